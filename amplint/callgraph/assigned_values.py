"""The values that the code of a file assigns to names and attributes, and hands over as parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from amplint.callgraph.computed_names import own_method_called, set_attribute
from amplint.callgraph.definitions import Definitions, Scope
from amplint.model.records import NamedTuple
from amplint.python_ast.walk import FIELDS

NAME, ATTRIBUTE, PARAMETER = "name", "attribute", "parameter"

_ASSIGNING = frozenset({ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.keyword, ast.Dict, ast.arguments})


class AssignedValue(NamedTuple):
    """A value that a name, an attribute or a parameter is given.

    Attributes:
        to: which of them.
        value: the expression.
        scope: the function that it stands in.
        part: which element of it is meant; -1 for the whole.
    """

    to: str
    value: ast.expr
    scope: Scope
    part: int = -1


class _Given(NamedTuple):
    """What a file gives to each name, its calls, and what it gives to attributes that variables name."""

    names: dict[str, list[AssignedValue]]
    calls: list[tuple[ast.Call, Scope]]
    computed: list[tuple[str, AssignedValue]]


_READ: WeakKeyDictionary[ast.Module, _Given] = WeakKeyDictionary()
"""What stands in the trees that somebody still holds: the files that are not edited are read once for several checks."""


class AssignedValues:
    """The values that the files of a project assign or hand over.

    Args:
        definitions: knows their trees.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._given: dict[Path, _Given] = {}

    def of(self, path: Path, name: str) -> Sequence[AssignedValue]:
        """What a file gives to a name, or to an attribute or a parameter of this name.

        Args:
            path: the file.
            name: the name.
        """
        given = self._of(path)
        assigned = given.names.get(name, ())
        return [*assigned, *_computed(given, name)] if given.computed else assigned

    def made(self, path: Path, name: str) -> list[tuple[ast.Call, Scope]]:
        """The calls of a file that make what it gives to a name: not those that are given what has the name already, as
        `DistributedDataParallel(model)` is; none where anything but a call may be given to it.

        Args:
            path: the file.
            name: the name.
        """
        given = [(each.value, each.scope) for each in self.of(path, name) if each.to != PARAMETER]
        new = [(value, scope) for value, scope in given if name not in _names_in(value)]
        calls = [(value, scope) for value, scope in new if isinstance(value, ast.Call)]
        return calls if len(calls) == len(new) else []

    def calls(self, path: Path) -> Sequence[tuple[ast.Call, Scope]]:
        """The calls in a file."""
        return self._of(path).calls

    def _of(self, path: Path) -> _Given:
        if path not in self._given:
            tree = self._definitions.module(path)
            known = _READ.get(tree)
            self._given[path] = _READ[tree] = _read(tree) if known is None else known
        return self._given[path]


def _read(tree: ast.Module) -> _Given:
    names: dict[str, list[AssignedValue]] = {}
    calls: list[tuple[ast.Call, Scope]] = []
    computed: list[tuple[str, AssignedValue]] = []
    waiting: list[tuple[ast.AST, Scope]] = [(tree, None)]
    while waiting:
        node, scope = waiting.pop()
        kind = type(node)
        if kind is ast.Call:
            calls.append((node, scope))  # type: ignore[arg-type]
            for text, assigned in set_attribute(node):  # type: ignore[arg-type]
                given = AssignedValue(ATTRIBUTE, assigned, scope)
                if isinstance(text, ast.Name):
                    computed.append((text.id, given))
                elif isinstance(text, ast.Constant):
                    names.setdefault(str(text.value), []).append(given)
        elif kind in _ASSIGNING:
            for name, value in _assigned(node, scope):
                names.setdefault(name, []).append(value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope = node
        for field in FIELDS[kind]:
            value = getattr(node, field)
            if type(value) is list:
                waiting += [(child, scope) for child in value if child is not None]
            elif value is not None:
                waiting.append((value, scope))
    return _Given(names, calls, computed)


def _computed(given: _Given, name: str) -> Iterator[AssignedValue]:
    """What a file gives to an attribute of some name where a variable holds the name, which the name of a method is made of,
    too: `module, config = getattr(self, f"build_{part}")(config)` before `self.add_module(part, module)`."""
    for variable, (to, value, scope, _) in given.computed:
        assigned = given.names.get(value.id, ()) if isinstance(value, ast.Name) else ()
        made = [each for each in assigned if each.scope is scope]
        for each in made or [AssignedValue(to, value, scope)]:
            call = own_method_called(each.value, variable, name)
            if call is not None:
                yield AssignedValue(to, call, scope, each.part)


def _assigned(node: ast.AST, scope: Scope) -> Iterator[tuple[str, AssignedValue]]:
    """The values that a node assigns or hands over, each with the name that gets it."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                for index, part in enumerate(parts):
                    yield from _to_target(part, value, scope, index if parts != [target] else -1)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from _to_target(target, value, scope)
        case ast.keyword(arg=str(name), value=value):
            yield name, AssignedValue(PARAMETER, value, scope)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, AssignedValue(PARAMETER, value, scope)
        case ast.arguments():
            ordered = [*node.posonlyargs, *node.args]
            defaults = [*zip(reversed(ordered), reversed(node.defaults)), *zip(node.kwonlyargs, node.kw_defaults)]
            yield from (
                (each.arg, AssignedValue(PARAMETER, value, scope)) for each, value in defaults if value is not None
            )


def _to_target(target: ast.expr, value: ast.expr, scope: Scope, part: int = -1) -> Iterator[tuple[str, AssignedValue]]:
    if isinstance(target, ast.Name):
        yield target.id, AssignedValue(NAME, value, scope, part)
    elif isinstance(target, ast.Attribute):
        yield target.attr, AssignedValue(ATTRIBUTE, value, scope, part)


def _names_in(value: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}


def spelling_of(node: ast.expr) -> str:
    """A name, or one behind others: `losses.dice`; empty for anything else."""
    if isinstance(node, ast.Attribute):
        before = spelling_of(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""
