"""Which class a name of some file makes objects of: the class itself, through imports, and through functions that return one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amplint.callgraph.import_graph import ImportGraph
from amplint.python_ast import gate
from amplint.system import limits

_MAX_HOPS = 6
"""Through so many imports and functions a name is followed."""


class Definition(NamedTuple):
    """A function or class at the top of a file."""

    path: Path
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Makers:
    """Follows names to definitions.

    Args:
        graph: the files of the project.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self._graph = graph
        self._modules: dict[Path, ast.Module] = {}

    def definition(self, path: Path, name: str, hops: int = 0) -> Definition | None:
        """What a name at the top of a file stands for, in that file or in the one that it is imported from.

        Args:
            path: the file.
            name: the name.
            hops: through how many imports it was followed so far.
        """
        module = self._module(path)
        for node in module.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                return Definition(path, node)
        if hops < _MAX_HOPS:
            for source, original in self._imports(path, module, name):
                found = self.definition(source, original, hops + 1)
                if found is not None:
                    return found
        return None

    def classes(self, path: Path, name: str, wanted: str = "", hops: int = 0) -> Iterator[Definition]:
        """The classes whose objects a class or function gives when it is called.

        Args:
            path: the file in which the name is used.
            name: the name that is called.
            wanted: what the object is called by whoever asked: of a tuple that is returned, the part of this name counts.
            hops: through how many functions it was followed so far.
        """
        found = self.definition(path, name)
        if found is None or hops > _MAX_HOPS:
            return
        if isinstance(found.node, ast.ClassDef):
            yield found
            return
        for returned in _returned(found.node, wanted):
            yield from self.classes(found.path, returned, wanted, hops + 1)

    def _module(self, path: Path) -> ast.Module:
        if path not in self._modules:
            try:
                self._modules[path] = gate.parse(self._graph.data(path).decode("utf-8", "replace"))
            except (SyntaxError, ValueError, gate.TooDeep, limits.TextTooLong):
                self._modules[path] = ast.Module([], [])
        return self._modules[path]

    def _imports(self, path: Path, module: ast.Module, name: str) -> Iterator[tuple[Path, str]]:
        for node in module.body:
            if isinstance(node, ast.ImportFrom):
                source = self._graph.find("." * node.level + (node.module or ""), path)
                for alias in node.names:
                    if source is not None and alias.name == "*":
                        yield source, name
                    elif source is not None and (alias.asname or alias.name) == name:
                        yield source, alias.name


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef, wanted: str) -> Iterator[str]:
    """The names of what is called to make what a function returns."""
    made: dict[str, str] = {}
    returned: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made.update(
                (each.id, called)
                for each in node.targets
                if isinstance(each, ast.Name)
                for called in _called(node.value)
            )
        elif isinstance(node, ast.Return) and node.value is not None:
            returned.append(node.value)
    for value in returned:
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        for part in parts:
            if isinstance(part, ast.Call):
                yield from _called(part) if len(parts) == 1 else ()
            elif isinstance(part, ast.Name) and part.id in made and (len(parts) == 1 or part.id == wanted):
                yield made[part.id]


def _called(call: ast.Call) -> Iterator[str]:
    """What a call names, if it is one name; what is called in turn to make the object of `X(...).cuda()`."""
    func: ast.expr = call.func
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call):
        func = func.value.func
    if isinstance(func, ast.Name):
        yield func.id
