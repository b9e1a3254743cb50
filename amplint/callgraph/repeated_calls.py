"""Whether other files call a function again and again, and give it the same object each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions, Scope
from amplint.callgraph.handed_arguments import given_as
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.parameters import parameter_names
from amplint.model.records import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class RepeatedCall(NamedTuple):
    """A call in a loop: the file, and the row."""

    path: Path
    row: int


class RepeatedCalls:
    """The loops of a project that call functions of other files.

    Args:
        graph: the files of the project.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self._graph, self._definitions = graph, Definitions(graph)

    def with_the_same(self, path: Path, function: str, parameter: str) -> RepeatedCall | None:
        """The first call in a loop that gives a function an object which the loop does not make.

        Args:
            path: the file of the function.
            function: its name, at the top of the file.
            parameter: the parameter that gets the object.
        """
        meant = next(self._definitions.named_in(path, function), None)
        if meant is None:
            return None
        for other in sorted(self._graph.users(path) - {path}):
            if self._graph.content(other).holds(function.encode()):
                for call, scope, loop in _looped(self._definitions.module(other), None, None):
                    if spelling_of(call.func).rpartition(".")[2] != function or not _gives(
                        call, meant, parameter, loop
                    ):
                        continue
                    if self._definitions.find(other, spelling_of(call.func), scope) == meant:
                        return RepeatedCall(other, call.lineno)
        return None


def _looped(node: ast.AST, scope: Scope, loop: ast.stmt | None) -> Iterator[tuple[ast.Call, Scope, ast.stmt]]:
    """The calls below a node that stand in a loop of their function, each with the function and the outermost such loop."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            inner = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else scope
            yield from _looped(child, inner, None)
            continue
        if isinstance(child, ast.Call) and loop is not None:
            yield child, scope, loop
        yield from _looped(child, scope, loop or (child if isinstance(child, _LOOPS) else None))


def _gives(call: ast.Call, function: Definition, parameter: str, loop: ast.stmt) -> bool:
    """Whether a call gives a parameter what has a name, and the loop gives that name no other value."""
    names = parameter_names(function.node)
    position = names.index(parameter) if parameter in names else None
    root = given_as(call, parameter, position)
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    stored = (each for each in ast.walk(loop) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return all(each.id != root.id for each in stored)
