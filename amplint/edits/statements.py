"""Edits of whole statements: insert, delete, move, wrap. Lines that an edit does not name keep every byte.

All offsets are of the whole file. A statement that shares its line with another, or stands behind the colon of a one-line
suite, is not edited: the methods answer None.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.source import indent_of
from amplint.syntax.tree import Tree

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

    # -- editing ---------------------------------------------------------------------------------------------------

    def insert_before(self, statement: Statement, *lines: str) -> Edit:
        """Insert lines in front of a statement, below the comments above it.

        Args:
            statement: the statement that comes after them.
            *lines: the lines, without indentation and line ends.
        """
        row = self.rows(statement)[0]
        start = self._source.line_starts[row - 1]
        return Edit(start, start, self._render(lines, self._source.indent(row)))

    def insert_after(self, statement: Statement, *lines: str) -> Edit:
        """Insert lines behind a statement.

        Args:
            statement: the statement that comes before them.
            *lines: the lines, without indentation and line ends.
        """
        return self.insert_rows_after(statement, self._render(lines, self.indent(statement)))

    def insert_rows_after(self, statement: Statement, text: str) -> Edit:
        """Insert whole rows, line ends and all, behind a statement.

        Args:
            statement: the statement that comes before them.
            text: the rows, indented, each with its line end.
        """
        end = self._end_of_row(self.rows(statement)[1])
        if end == len(self._source.text) and not self._source.text.endswith(("\n", "\r")):
            return Edit(end, end, self._source.newline + text.rstrip("\r\n"))
        return Edit(end, end, text)

    def delete_rows(self, first: int, last: int) -> Edit:
        """Delete rows; of the blank rows on both sides only one stays.

        Args:
            first: the first row, 1-based.
            last: the last row, which goes, too.
        """
        around = [
            self._source.line(row).strip() for row in (first - 1, last + 1) if 1 <= row <= len(self._source.line_starts)
        ]
        return Edit(self._source.line_starts[first - 1], self._end_of_row(last + (around == ["", ""])), "")

    def delete(self, statement: Statement) -> Edit:
        """Delete the rows of a statement, trailing comment and all."""
        first, last = self.rows(statement)
        return Edit(self._source.line_starts[first - 1], self._end_of_row(last), "")

    def move_before(self, statement: Statement, target: Statement) -> list[Edit]:
        """Move a statement, with its trailing comment, in front of another one.

        Args:
            statement: what moves.
            target: what it is to stand in front of, perhaps in another block, whose indentation it gets.

        Returns:
            Two edits, an insertion and a deletion.
        """
        lines = self.reindented(statement, self.indent(target))
        start = self._source.line_starts[self.rows(target)[0] - 1]
        return [Edit(start, start, self._render(lines, "")), self.delete(statement)]

    def move_after(self, statement: Statement, target: Statement) -> list[Edit]:
        """Move a statement, with its trailing comment, behind another one, or out of one that it ends.

        Args:
            statement: what moves.
            target: what it stands behind afterwards.

        Returns:
            The edits, sorted.
        """
        lines, rows = self.reindented(statement, self.indent(target)), self.rows(statement)
        if rows[1] == self.rows(target)[1]:
            return [self.replace_rows(*rows, lines)]
        return sorted([self.insert_rows_after(target, self._render(lines, "")), self.delete(statement)])

    def reindented(self, statement: Statement, indent: str) -> list[str]:
        """The rows of a statement under another indentation.

        Args:
            statement: the statement.
            indent: the white space that its first row is to begin with.
        """
        first, last = self.rows(statement)
        return self.shifted(first, last, self.indent(statement), indent)

    def shifted(self, first: int, last: int, old: str, new: str) -> list[str]:
        """Rows with the indentation `old` replaced by `new`; blank rows, and rows inside a string, stay as they are.

        Args:
            first: the first row, 1-based.
            last: the last row, which belongs to it.
            old: the white space that the rows begin with.
            new: the white space in its place.
        """
        inside = self._string_rows()
        return [
            line if row in inside or not line.strip() else _shifted(line, old, new)
            for row, line in zip(range(first, last + 1), self.lines(first, last))
        ]

    def shift(self, first: int, last: int, old: str, new: str) -> Edit:
        """Put rows that are indented by `old` under the indentation `new`; each keeps its own line end.

        Args:
            first: the first row, 1-based.
            last: the last row, which belongs to it.
            old: the white space that the rows begin with.
            new: the white space in its place.
        """
        return Edit(
            self._source.line_starts[first - 1], self._end_of_row(last), self._shifted_text(first, last, old, new)
        )

    def wrap(self, first: int, last: int, header: str) -> Edit:
        """Put the rows of some neighbouring statements into a block of their own, under a header such as `if x:`.

        Args:
            first: the first row, 1-based.
            last: the last row, which belongs to it.
            header: the line of the block, without indentation, colon and all.
        """
        indent = self._source.indent(first)
        body = self._shifted_text(first, last, indent, indent + self.unit)
        return Edit(self._source.line_starts[first - 1], self._end_of_row(last), self._render((header,), indent) + body)

    def replace_rows(self, first: int, last: int, lines: Sequence[str]) -> Edit:
        """Put lines in the place of rows.

        Args:
            first: the first row, 1-based.
            last: the last row, which goes, too.
            lines: the new rows, indented, without line ends.
        """
        newline = self._source.newline
        text = "".join(f"{line}{newline}" for line in lines)
        end = self._end_of_row(last)
        if end == len(self._source.text) and not self._source.text.endswith(("\n", "\r")):
            text = text.rstrip("\r\n")
        return Edit(self._source.line_starts[first - 1], end, text)

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Put text in the place of a node.

        Args:
            node: what goes; parentheses around it stay.
            text: what stands there instead.
        """
        start, end = self._tree.span(node)
        return Edit(start, end, text)

    def fresh(self, name: str) -> str:
        """`name`, or `name` with a number behind it, such that no identifier of the file is spelled like it."""
        taken = {found.value for found in self._tree.find(cst.Name)}
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(each for each in numbered if each not in taken)

    def is_free(self, name: str) -> bool:
        """Whether no identifier of the file is spelled like `name`, so that a fix may bind it."""
        return all(found.value != name for found in self._tree.find(cst.Name))

    # -- details ---------------------------------------------------------------------------------------------------

    def _render(self, lines: Sequence[str], indent: str) -> str:
        return "".join(f"{indent}{line}{self._source.newline}" for line in lines)

    def _end_of_row(self, row: int) -> int:
        starts = self._source.line_starts
        return starts[row] if row < len(starts) else len(self._source.text)

    def _shifted_text(self, first: int, last: int, old: str, new: str) -> str:
        parts: list[str] = []
        for row, line in zip(range(first, last + 1), self.shifted(first, last, old, new)):
            end = self._source.line_starts[row - 1] + len(self._source.line(row))
            parts += [line, self._source.text[end : self._end_of_row(row)]]
        return "".join(parts)

    def _string_rows(self) -> set[int]:
        """The rows that begin inside a string."""
        rows: set[int] = set()
        for node in (*self._tree.find(cst.SimpleString), *self._tree.find(cst.FormattedString)):
            start, end = self._tree.span(node)
            rows.update(range(self._source.position(start).row + 1, self._source.position(end).row + 1))
        return rows


def _shifted(line: str, old: str, new: str) -> str:
    """A line under another indentation; a form feed, behind which Python begins to count, keeps its place."""
    kept = line[: indent_of(line).rfind("\f") + 1]
    rest = line[len(kept) :]
    return kept + new + rest[len(old) :] if rest.startswith(old) else line
