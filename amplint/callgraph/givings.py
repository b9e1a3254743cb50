"""What the code of a file gives to names, attributes and parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from amplint.callgraph.definitions import Definitions, Scope
from amplint.python_ast.walk import FIELDS

NAME, ATTRIBUTE, PARAMETER = "name", "attribute", "parameter"

_GIVING = frozenset({ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.keyword, ast.Dict, ast.arguments})


class Given(NamedTuple):
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


class Givings:
    """What the files of a project give.

    Args:
        definitions: knows their trees.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._names: dict[Path, dict[str, list[Given]]] = {}
        self._calls: dict[Path, list[tuple[ast.Call, Scope]]] = {}

    def of(self, path: Path, name: str) -> Sequence[Given]:
        """What a file gives to a name, or to an attribute or a parameter of this name.

        Args:
            path: the file.
            name: the name.
        """
        self._read(path)
        return self._names[path].get(name, ())

    def calls(self, path: Path) -> Sequence[tuple[ast.Call, Scope]]:
        """The calls in a file."""
        self._read(path)
        return self._calls[path]

    def _read(self, path: Path) -> None:
        if path in self._names:
            return
        names: dict[str, list[Given]] = {}
        calls: list[tuple[ast.Call, Scope]] = []
        self._names[path], self._calls[path] = names, calls
        waiting: list[tuple[ast.AST, Scope]] = [(self._definitions.module(path), None)]
        while waiting:
            node, scope = waiting.pop()
            kind = type(node)
            if kind is ast.Call:
                calls.append((node, scope))  # type: ignore[arg-type]
            elif kind in _GIVING:
                for name, given in _givings(node, scope):
                    names.setdefault(name, []).append(given)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                scope = node
            for field in FIELDS[kind]:
                value = getattr(node, field)
                if type(value) is list:
                    waiting += [(child, scope) for child in value if child is not None]
                elif value is not None:
                    waiting.append((value, scope))


def _givings(node: ast.AST, scope: Scope) -> Iterator[tuple[str, Given]]:
    """What a node gives to names, attributes and parameters."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                for index, part in enumerate(parts):
                    yield from _giving(part, value, scope, index if parts != [target] else -1)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from _giving(target, value, scope)
        case ast.keyword(arg=str(name), value=value):
            yield name, Given(PARAMETER, value, scope)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, Given(PARAMETER, value, scope)
        case ast.arguments():
            ordered = [*node.posonlyargs, *node.args]
            defaults = [*zip(reversed(ordered), reversed(node.defaults)), *zip(node.kwonlyargs, node.kw_defaults)]
            yield from ((each.arg, Given(PARAMETER, value, scope)) for each, value in defaults if value is not None)


def _giving(target: ast.expr, value: ast.expr, scope: Scope, part: int = -1) -> Iterator[tuple[str, Given]]:
    if isinstance(target, ast.Name):
        yield target.id, Given(NAME, value, scope, part)
    elif isinstance(target, ast.Attribute):
        yield target.attr, Given(ATTRIBUTE, value, scope, part)


def spelling_of(node: ast.expr) -> str:
    """A name, or one behind others: `losses.dice`; empty for anything else."""
    if isinstance(node, ast.Attribute):
        before = spelling_of(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""
