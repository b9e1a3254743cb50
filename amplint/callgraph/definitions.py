"""What names at the top of files stand for: functions, classes and modules, also through imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amplint.callgraph.import_graph import ImportGraph
from amplint.python_ast import gate
from amplint.system import limits

_MOST_FILES = 40
"""Through so many files in a row a name is followed."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A function or class at the top of a file."""

    path: Path
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Definitions:
    """Follows names to definitions.

    Args:
        graph: the files of the project.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self._graph = graph
        self._modules: dict[Path, ast.Module] = {}
        self._tops: dict[Path, list[ast.stmt]] = {}
        self._found: dict[tuple[Path, str], Definition | None] = {}
        self._depth = 0

    def find(self, path: Path, name: str) -> Definition | None:
        """What a name at the top of a file stands for, in that file or in the one that it is imported from.

        Args:
            path: the file.
            name: the name, or one behind modules: `losses.dice`.
        """
        key = path, name
        if key not in self._found and self._depth < _MOST_FILES:
            self._found[key] = None  # stands while it is looked for: files may import each other in a circle
            self._depth += 1
            self._found[key] = self._find(path, name)
            self._depth -= 1
        return self._found.get(key)

    def _find(self, path: Path, name: str) -> Definition | None:
        before, _, last = name.rpartition(".")
        if before:
            module = self.imported_module(path, before)
            return self.find(module, last) if module is not None else None
        for node in self.top(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                return Definition(path, node)
        found = (self.find(source, original) for source, original in self.sources(path, name))
        return next((each for each in found if each is not None), None)

    def module(self, path: Path) -> ast.Module:
        """The tree of a file; empty where it cannot be parsed."""
        if path not in self._modules:
            try:
                self._modules[path] = gate.parse(self._graph.data(path).decode("utf-8", "replace"))
            except (SyntaxError, ValueError, gate.TooDeep, limits.TextTooLong):
                self._modules[path] = ast.Module([], [])
        return self._modules[path]

    def top(self, path: Path) -> list[ast.stmt]:
        """The statements of a file that no function holds, also those under an `if` or `try`."""
        if path not in self._tops:
            self._tops[path] = list(_unfolded(self.module(path).body))
        return self._tops[path]

    def sources(self, path: Path, name: str) -> Iterator[tuple[Path, str]]:
        """The files that a name of a file may be imported from, each with what it is called there.

        Args:
            path: the file.
            name: the name.
        """
        for node in self.top(path):
            if isinstance(node, ast.ImportFrom):
                source = self._graph.find("." * node.level + (node.module or ""), path)
                for alias in node.names:
                    if source is not None and name in (alias.asname or alias.name, name if alias.name == "*" else ""):
                        yield source, name if alias.name == "*" else alias.name

    def imported_module(self, path: Path, name: str) -> Path | None:
        """The file that a file calls by a name, such as `losses` after `from . import losses`.

        Args:
            path: the file that imports.
            name: the name.
        """
        for node in self.top(path):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._graph.find(alias.name, path)
            elif isinstance(node, ast.ImportFrom):
                before = "." * node.level + (f"{node.module}." if node.module else "")
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._graph.find(before + alias.name, path)
        return None


def _unfolded(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _unfolded(node.body)
            for handler in node.handlers if isinstance(node, ast.Try) else ():
                yield from _unfolded(handler.body)
            yield from _unfolded(node.orelse)
