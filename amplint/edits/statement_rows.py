"""Where the statements of a file stand: their rows, blocks, indents, and the comments that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from amplint.syntax.tree import Tree

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


class StatementRows:
    """The rows of the statements of one file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._source = tree.source

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
        """The direct member of `block` that `node` is, or is inside of.

        Args:
            node: any node inside the block.
            block: an `IndentedBlock` or the `Module`.

        Returns:
            None where the node is not inside, or the block is no block of statements.
        """
        below = node
        for above in self._tree.ancestors(node):
            if above is block:
                return below if isinstance(below, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) else None
            below = above
        return None

    def rows_text(self, first: int, last: int) -> str:
        """The text of rows, line ends and all; the last one ends in a line end in any case.

        Args:
            first: the first row, 1-based.
            last: the last row, which belongs to it.
        """
        text = self._source.text[self._source.line_starts[first - 1] : self._end_of_row(last)]
        return text if text.endswith(("\n", "\r")) else text + self._source.newline

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

    @property
    def unit(self) -> str:
        """One step of indentation, as the file has it."""
        blocks = self._tree.find(cst.IndentedBlock)
        row = self._source.position(self._tree.span(blocks[0].body[0])[0]).row if blocks else 0
        return self._source.indent(row) if blocks else "    "

    def first_row(self, statement: Statement, *, over_blanks: bool = True) -> int:
        """The first row of a statement with the comments above it that are indented like it.

        Args:
            statement: one that has its lines to itself.
            over_blanks: whether comments count that blank rows part from the statement.
        """
        row = first = self.rows(statement)[0]
        comment = f"{self._source.indent(row)}#"
        while row > 1:
            row -= 1
            line = self._source.line(row)
            if line.strip() and not line.startswith(comment) or not (line.strip() or over_blanks):
                break
            first = row if line.strip() else first
        return first

    def last_row(self, block: cst.IndentedBlock) -> int:
        """The last row of a block, with the comments below its last statement that are indented like the block."""
        statement = block.body[-1]
        assert isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
        row = last = self.rows(statement)[1]
        indent = self.indent(statement)
        while row < len(self._source.line_starts):
            row += 1
            line = self._source.line(row)
            if line.strip() and not (line.startswith(indent) and line.lstrip().startswith("#")):
                break
            last = row if line.strip() else last
        return last

    def lines(self, first: int, last: int) -> list[str]:
        """Rows without their line ends.

        Args:
            first: the first row, 1-based.
            last: the last row, which belongs to it.
        """
        return [self._source.line(row) for row in range(first, last + 1)]

    def _end_of_row(self, row: int) -> int:
        starts = self._source.line_starts
        return starts[row] if row < len(starts) else len(self._source.text)

    @cached_property
    def _string_rows(self) -> frozenset[int]:
        """The rows that begin inside a string."""
        rows: set[int] = set()
        for node in (*self._tree.find(cst.SimpleString), *self._tree.find(cst.FormattedString)):
            start, end = self._tree.span(node)
            rows.update(range(self._source.position(start).row + 1, self._source.position(end).row + 1))
        return frozenset(rows)
