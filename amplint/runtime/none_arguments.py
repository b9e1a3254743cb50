"""Functions that a repair gives `None` for an object whose methods they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from amplint.source import Source

_STARTERS = {"spawn": 1, "start_processes": 1, "Process": 0, "Thread": 0}
"""What starts a function with `args`, and how many arguments it puts in front of them."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def newly_none(before: Source, after: Source) -> list[str]:
    """What raises since `None` is handed over, each in one line.

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
        name, given = _handed_over(call)
        namesakes = functions.get(name, [])
        if len(namesakes) == 1:
            yield from (_misuse(namesakes[0], param) for param in _empty(namesakes[0], given, call))


def _handed_over(call: ast.Call) -> tuple[str, list[ast.expr]]:
    """The name of the function that a call runs, and the arguments by position: `...` where none is known."""
    last = _last_name(call.func)
    if last not in _STARTERS:
        return last, call.args
    named = {each.arg: each.value for each in call.keywords}
    target, args = named.get("target", call.args[0] if call.args else call), named.get("args")
    ahead: list[ast.expr] = [ast.Constant(...)] * _STARTERS[last]
    return _last_name(target), [*ahead, *args.elts] if isinstance(args, ast.Tuple) else []


def _empty(function: _Function, given: list[ast.expr], call: ast.Call) -> Iterator[str]:
    """The parameters that are given `None`, and whose methods are called without asking."""
    params = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    params = params[1:] if params[:1] == ["self"] else params
    by_name = [(each.arg, each.value) for each in call.keywords if each.arg in params]
    pairs = [] if any(isinstance(each, ast.Starred) for each in given) else [*zip(params, given)]
    for param, value in (*pairs, *by_name):
        if param is not None and isinstance(value, ast.Constant) and value.value is None and _misuse(function, param):
            yield param


def _misuse(function: _Function, param: str) -> str:
    """What a function raises where a parameter is `None`; empty where it gives it a value, or asks for one."""
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
    return f"AttributeError: `{param}` is None, and has no `{methods[0].attr}`" if methods else ""


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
