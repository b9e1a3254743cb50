"""Functions that a repair gives something else for an object whose methods they call: `None`, or the state of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from amplint.runtime.statement_parts import last_name
from amplint.source import Source

_STARTERS = {"spawn": 1, "start_processes": 1, "Process": 0, "Thread": 0}
"""What starts a function with `args`, and how many arguments it puts in front of them."""
_NONE, _STATE = "None", "a dictionary"
_OF_DICTIONARIES = frozenset(dir(dict))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def newly_none(before: Source, after: Source) -> list[str]:
    """What raises since `None`, or a state, is handed over, each in one line.

    Args:
        before: the file as it stands.
        after: the file with a repair.
    """
    known = set(_errors(before))
    return sorted(set(_errors(after)) - known)


def _errors(source: Source) -> Iterator[str]:
    tree = ast.parse(source.text)
    functions: dict[str, list[_Function]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            functions.setdefault(node.name, []).append(node)
    for call in (each for each in ast.walk(tree) if isinstance(each, ast.Call)):
        name, given = _handed_over(call, tree)
        namesakes = functions.get(name, [])
        if len(namesakes) == 1:
            yield from _misuses(namesakes[0], given, call)


def _handed_over(call: ast.Call, tree: ast.Module) -> tuple[str, list[ast.expr]]:
    """The name of the function that a call runs, and the arguments by position: `...` where none is known."""
    last = last_name(call.func)
    if last not in _STARTERS:
        return last, call.args
    named = {each.arg: each.value for each in call.keywords}
    target, args = named.get("target", call.args[0] if call.args else call), named.get("args")
    args = _only_value(args.id, tree) if isinstance(args, ast.Name) else args
    ahead: list[ast.expr] = [ast.Constant(...)] * _STARTERS[last]
    return last_name(target), [*ahead, *args.elts] if isinstance(args, ast.Tuple) else []


def _only_value(name: str, tree: ast.Module) -> ast.expr | None:
    """What a variable is given, if that is done at one place."""
    assigned = [each for each in ast.walk(tree) if isinstance(each, ast.Assign)]
    values = [each.value for each in assigned for target in each.targets if ast.unparse(target) == name]
    return values[0] if len(values) == 1 else None


def _misuses(function: _Function, given: list[ast.expr], call: ast.Call) -> Iterator[str]:
    """What a function raises that calls methods of its parameters, which are not there, without asking."""
    params = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    params = params[1:] if params[:1] == ["self"] else params
    by_name = [(each.arg, each.value) for each in call.keywords if each.arg in params]
    pairs = [] if any(isinstance(each, ast.Starred) for each in given) else [*zip(params, given)]
    for param, value in (*pairs, *by_name):
        kind = _kind(value)
        if param is not None and kind and (error := _misuse(function, param, kind)):
            yield error


def _kind(value: ast.expr) -> str:
    """What an argument is that is no object of AMP's, in words; empty for what is not known."""
    if isinstance(value, ast.Constant) and value.value is None:
        return _NONE
    return _STATE if isinstance(value, ast.Call) and last_name(value.func) == "state_dict" else ""


def _misuse(function: _Function, param: str, kind: str) -> str:
    """What a function raises where a parameter is something else; empty where it gives it a value, or asks for one."""
    used = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == param]
    asked = {
        id(part)
        for each in ast.walk(function)
        if isinstance(each, (ast.If, ast.IfExp, ast.While, ast.Assert, ast.BoolOp))
        for part in ast.walk(each if isinstance(each, ast.BoolOp) else each.test)
    }
    if any(id(each) in asked or isinstance(each.ctx, ast.Store) for each in used):
        return ""
    methods = [each for each in ast.walk(function) if isinstance(each, ast.Attribute) and each.value in used]
    missing = [each.attr for each in methods if kind == _NONE or each.attr not in _OF_DICTIONARIES]
    return f"AttributeError: `{param}` is {kind}, and has no `{missing[0]}`" if missing else ""
