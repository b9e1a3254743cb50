"""What names at the top of files stand for: functions, classes and modules, also through imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amplint.callgraph.import_graph import ImportGraph
from amplint.python_ast import gate
from amplint.system import limits

MAX_HOPS = 6
"""Through so many imports and functions a name is followed."""

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

    def find(self, path: Path, name: str, hops: int = 0) -> Definition | None:
        """What a name at the top of a file stands for, in that file or in the one that it is imported from.

        Args:
            path: the file.
            name: the name, or one behind modules: `losses.dice`.
            hops: through how many imports it was followed so far.
        """
        before, _, last = name.rpartition(".")
        if before:
            module = self.imported_module(path, before)
            return self.find(module, last, hops + 1) if module is not None and hops < MAX_HOPS else None
        for node in self.top(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                return Definition(path, node)
        sources = self.sources(path, name) if hops < MAX_HOPS else ()
        found = (self.find(source, original, hops + 1) for source, original in sources)
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
