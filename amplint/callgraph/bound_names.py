"""The names that the statements of a file or function bind: definitions, and what is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


class BoundNames:
    """The statements of a file or function, also in blocks such as those of `if` and `try`, and the names that they bind.

    Args:
        body: the statements of the file or function.

    Attributes:
        statements: all of them.
        defined: the first function or class of each name.
        modules: what may be a module that is imported, by the name that it has here.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        self.statements = list(_unfolded(body))
        self.defined: dict[str, Function | ast.ClassDef] = {}
        self.modules: dict[str, str] = {}
        self._taken: list[tuple[str, str, str]] = []
        for node in self.statements:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.defined.setdefault(node.name, node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._take(node)

    def _take(self, node: ast.Import | ast.ImportFrom) -> None:
        source = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        between = "." if source.strip(".") else ""
        for alias in node.names:
            here = alias.asname or alias.name
            self.modules.setdefault(here, source + between + alias.name)
            if source:
                self._taken.append((here, source, alias.name))

    def sources(self, name: str) -> Iterator[tuple[str, str]]:
        """The modules that a name may be taken from, each with what it is called there; any name is meant by `*`."""
        for here, source, there in self._taken:
            if name == "*" or here in (name, "*"):
                yield source, name if there == "*" else there


def _unfolded(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the blocks in it, but not of functions and classes."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in ("body", "orelse", "finalbody"):
                yield from _unfolded(getattr(node, block, []))
            for handler in getattr(node, "handlers", []):
                yield from _unfolded(handler.body)
