"""A program as text and syntax tree: where nodes stand, and what stands around them."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Compound = ast.If | ast.For | ast.While | ast.With | ast.Try
Loop = ast.For | ast.While
SMALL = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Continue, ast.Break, ast.Return, ast.Raise)


class Change(NamedTuple):
    """One mutation: what it does, in words; the row; and the whole text after it."""

    what: str
    row: int
    text: str


class ProgramText:
    """A text, its tree, and the statements of it that mutations may touch: those of the functions that hold given rows."""

    def __init__(self, text: str, tree: ast.Module, rows: set[int]) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.scopes = [each for each in _scopes(tree.body) if any(_first(each) <= row <= _last(each) for row in rows)]

    # -- places ----------------------------------------------------------------------------------------------------

    def offset(self, row: int, column: int) -> int:
        """The offset of a place of the syntax tree, whose columns count bytes."""
        return sum(map(len, self.lines[: row - 1])) + len(self.lines[row - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """The whole rows of statements, from the first column on."""
        return textwrap.dedent("".join(self.lines[statements[0].lineno - 1 : _last(statements[-1])]))

    # -- changes ---------------------------------------------------------------------------------------------------

    def put(self, what: str, node: ast.expr | ast.stmt, replacement: str) -> Change:
        """The text with another one in the place of a node."""
        start, end = self.span(node)
        return Change(what, node.lineno, self.text[:start] + replacement + self.text[end:])

    def put_rows(self, what: str, statements: Sequence[ast.stmt], block: str, column: int | None = None) -> Change:
        """The text with other rows in the place of statements.

        Args:
            what: the change, in words.
            statements: neighbours in one block.
            block: whole rows, from the first column on.
            column: where they are to begin; by default where the statements do.
        """
        first = statements[0]
        start, last = first.lineno - 1, _last(statements[-1])
        indented = textwrap.indent(block, " " * (first.col_offset if column is None else column))
        if indented and not indented.endswith("\n"):
            indented += "\n"
        return Change(what, first.lineno, "".join([*self.lines[:start], indented, *self.lines[last:]]))

    # -- nodes -----------------------------------------------------------------------------------------------------

    def statements(self) -> Iterator[ast.stmt]:
        """The statements within reach, docstrings aside."""
        for block in self.blocks():
            yield from block

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """The blocks within reach: statements that follow each other, docstrings aside."""
        for scope in self.scopes:
            if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield [scope]
            yield from filter(self._has_rows, _blocks(scope))

    def _has_rows(self, block: list[ast.stmt]) -> bool:
        """Whether each statement of a block begins a row."""
        return all(not self.lines[each.lineno - 1].encode()[: each.col_offset].strip() for each in block)

    def expressions(self) -> Iterator[ast.expr]:
        """The expressions within reach."""
        for statement in self.statements():
            yield from own_expressions(statement)


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are not in a statement inside it, nor in its decorators or parameters."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from (node for node in ast.walk(child) if isinstance(node, ast.expr))
        elif isinstance(child, ast.withitem):
            yield from (node for node in ast.walk(child.context_expr) if isinstance(node, ast.expr))


def _scopes(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The functions and methods of a file, and its other statements that do something."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _scopes(statement.body)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)) and not _is_docstring(statement):
            yield statement


def _blocks(node: ast.stmt | ast.ExceptHandler) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        statements = [each for each in getattr(node, name, []) if not _is_docstring(each)]
        if statements:
            yield statements
        for statement in statements:
            yield from _blocks(statement)
    for handler in getattr(node, "handlers", []):
        yield from _blocks(handler)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _last(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno


def dotted(node: ast.expr) -> str:
    """The dotted name that an expression is, empty where it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr}"
    return ""


def callee(node: ast.expr) -> str:
    """The last part of the name of what an expression calls, empty where it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
