"""Edits of whole statements: insert, delete, move, wrap. Lines that an edit does not name keep every byte.

All offsets are of the whole file. A statement that shares its line with another, or stands behind the colon of a one-line
suite, is not edited: the methods answer None.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.lowering.tree import Tree

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


class Editor:
    """Writes edits for one file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._source = tree.source

    # -- finding ---------------------------------------------------------------------------------------------------

    def statement(self, node: cst.CSTNode) -> Statement | None:
        """The innermost statement that `node` is, or is part of, if it has its lines to itself."""
        for above in (node, *self._tree.ancestors(node)):
            if isinstance(above, cst.SimpleStatementSuite):
                return None
            if isinstance(above, cst.SimpleStatementLine):
                return above if len(above.body) == 1 else None
            if isinstance(above, cst.BaseCompoundStatement):
                return above
        return None

    def block(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """The block whose direct member a statement is: an `IndentedBlock` or the `Module`."""
        return self._tree.parent(statement)

    def siblings(self, statement: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """All statements of the block, the statement among them."""
        block = self.block(statement)
        return block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()

    def member_of(self, node: cst.CSTNode, block: cst.CSTNode) -> Statement | None:
        """The direct member of `block` that `node` is, or is inside of."""
        below = node
        for above in self._tree.ancestors(node):
            if above is block:
                return below if isinstance(below, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) else None
            below = above
        return None

    def rows(self, statement: Statement) -> tuple[int, int]:
        """First and last row (1-based), decorators and trailing comments included, comments above not."""
        start, end = self._tree.span(statement)
        for decorator in getattr(statement, "decorators", ()):
            start = min(start, self._tree.span(decorator)[0])
        last = self._source.position(end)
        row = last.row - 1 if last.column == 1 and last.offset > start else last.row
        return self._source.position(start).row, row

    def indent(self, statement: Statement) -> str:
        """The white space that the statement's line begins with."""
        return self._source.indent(self.rows(statement)[0])

    def lines(self, first: int, last: int) -> list[str]:
        """The rows `first` to `last`, without line ends."""
        return [self._source.line(row) for row in range(first, last + 1)]

    # -- editing ---------------------------------------------------------------------------------------------------

    def insert_before(self, statement: Statement, *lines: str) -> Edit:
        """Insert lines, given without indentation, in front of a statement, below the comments above it."""
        row = self.rows(statement)[0]
        start = self._source.line_starts[row - 1]
        return Edit(start, start, self._render(lines, self._source.indent(row)))

    def insert_after(self, statement: Statement, *lines: str) -> Edit:
        """Insert lines, given without indentation, behind a statement."""
        _, last = self.rows(statement)
        text = self._render(lines, self.indent(statement))
        if last < len(self._source.line_starts):
            start = self._source.line_starts[last]
            return Edit(start, start, text)
        end = len(self._source.text)
        return Edit(end, end, self._source.newline + text.rstrip("\r\n"))

    def delete(self, statement: Statement) -> Edit:
        """Delete the rows of a statement, trailing comment and all."""
        first, last = self.rows(statement)
        return Edit(self._source.line_starts[first - 1], self._end_of_row(last), "")

    def move_before(self, statement: Statement, target: Statement) -> list[Edit]:
        """Move a statement, with its trailing comment, in front of another one."""
        lines = self.reindented(statement, self.indent(target))
        row = self.rows(target)[0]
        start = self._source.line_starts[row - 1]
        newline = self._source.newline
        return [Edit(start, start, "".join(f"{line}{newline}" for line in lines)), self.delete(statement)]

    def reindented(self, statement: Statement, indent: str) -> list[str]:
        """The rows of a statement under another indentation."""
        first, last = self.rows(statement)
        return self.shifted(first, last, self.indent(statement), indent)

    def shifted(self, first: int, last: int, old: str, new: str) -> list[str]:
        """Rows with the indentation `old` replaced by `new`; rows inside a multi-line string stay as they are."""
        inside = self._string_rows()
        return [
            line if row in inside or not line.startswith(old) else new + line[len(old) :]
            for row, line in zip(range(first, last + 1), self.lines(first, last))
        ]

    def replace_rows(self, first: int, last: int, lines: Sequence[str]) -> Edit:
        """Put lines in the place of the rows `first` to `last`."""
        newline = self._source.newline
        text = "".join(f"{line}{newline}" for line in lines)
        end = self._end_of_row(last)
        if end == len(self._source.text) and not self._source.text.endswith(("\n", "\r")):
            text = text.rstrip("\r\n")
        return Edit(self._source.line_starts[first - 1], end, text)

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Put text in the place of a node."""
        start, end = self._tree.span(node)
        return Edit(start, end, text)

    def is_free(self, name: str, node: cst.CSTNode) -> bool:
        """Whether no identifier of the file is spelled like `name`, so that a fix may bind it."""
        return all(found.value != name for found in self._tree.find(cst.Name))

    # -- details ---------------------------------------------------------------------------------------------------

    def _render(self, lines: Sequence[str], indent: str) -> str:
        return "".join(f"{indent}{line}{self._source.newline}" for line in lines)

    def _end_of_row(self, row: int) -> int:
        starts = self._source.line_starts
        return starts[row] if row < len(starts) else len(self._source.text)

    def _string_rows(self) -> set[int]:
        rows: set[int] = set()
        for kind in (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString):
            for node in self._tree.find(kind):
                if kind is cst.ConcatenatedString or '"""' not in self._tree.text(node) and "'''" not in self._tree.text(node):
                    continue
                start, end = self._tree.span(node)
                rows.update(range(self._source.position(start).row + 1, self._source.position(end).row + 1))
        return rows
