"""Whether other files call a function again and again, and give it the same object each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from amplint.callgraph.assigned_values import AssignedValues, spelling_of
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
        self._assigned_values = AssignedValues(self._definitions)

    def with_the_same(self, path: Path, function: str, parameter: str) -> RepeatedCall | None:
        """The first call in a loop that gives a function an object which the loop does not make.

        Args:
            path: the file of the function.
            function: its name, at the top of the file; of a method, behind that of its class.
            parameter: the parameter that gets the object.
        """
        owner, _, method = function.rpartition(".")
        if owner:
            return self._on_the_same(path, owner, method)
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

    def _on_the_same(self, path: Path, owner: str, method: str) -> RepeatedCall | None:
        """The first call in a loop of a method of an object that the loop does not make."""
        meant = next(self._definitions.named_in(path, owner), None)
        defined = self._definitions.method(meant, method) if meant is not None else None
        if defined is None:
            return None
        for other in sorted(self._graph.users(path) - {path}):
            if self._graph.content(other).holds(f".{method}(".encode()):
                for call, _, loop in _looped(self._definitions.module(other), None, None):
                    name = _object_of(call, method)
                    if name and not _stores(loop, name) and self._has(other, name, defined):
                        return RepeatedCall(other, call.lineno)
        return None

    def _has(self, path: Path, name: str, method: Definition) -> bool:
        """Whether all that a file assigns to a name, or enters as it (`with Trainer(model) as trainer`), are objects with a
        method."""
        made = [*self._assigned_values.made(path, name), *_entered(self._definitions.module(path), name)]
        classes = [self._definitions.find(path, spelling_of(call.func), scope) for call, scope in made]
        found = [self._definitions.method(each, method.node.name) if each is not None else None for each in classes]
        return bool(found) and all(each == method for each in found)


def _entered(module: ast.Module, name: str) -> Iterator[tuple[ast.Call, Scope]]:
    """The calls that make what is entered under a name; each as if it stood at the top of its file."""
    items = (item for node in ast.walk(module) if isinstance(node, ast.With) for item in node.items)
    for item in items:
        target = item.optional_vars
        if isinstance(target, ast.Name) and target.id == name and isinstance(item.context_expr, ast.Call):
            yield item.context_expr, None


def _object_of(call: ast.Call, method: str) -> str:
    """The name of the object on which a call runs a method; empty for any other call."""
    func = call.func
    named = isinstance(func, ast.Attribute) and func.attr == method and isinstance(func.value, ast.Name)
    return spelling_of(call.func).rpartition(".")[0] if named else ""


def _stores(loop: ast.stmt, name: str) -> bool:
    """Whether a loop gives a name another value."""
    return any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store) for each in ast.walk(loop)
    )


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
    return isinstance(root, ast.Name) and not _stores(loop, root.id)
