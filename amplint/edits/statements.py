"""Edits of whole statements: insert, delete, move, wrap. Lines that an edit does not name keep every byte.

All offsets are of the whole file. A statement that shares its line with another, or stands behind the colon of a one-line
suite, is not edited: the methods answer None.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from amplint.diagnostics import Edit
from amplint.edits.statement_rows import Statement, StatementRows
from amplint.source import indent_of


class Editor(StatementRows):
    """Writes edits for one file."""

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
        return [
            line if row in self._string_rows or not line.strip() else _shifted(line, old, new)
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
        numbered = (f"{name}_{number}" for number in range(2, len(self._identifiers) + 3))
        return name if self.is_free(name) else next(each for each in numbered if self.is_free(each))

    def is_free(self, name: str) -> bool:
        """Whether no identifier of the file is spelled like `name`, so that a fix may bind it."""
        return name not in self._identifiers

    @cached_property
    def _identifiers(self) -> frozenset[str]:
        return frozenset(found.value for found in self._tree.find(cst.Name))

    def _render(self, lines: Sequence[str], indent: str) -> str:
        return "".join(f"{indent}{line}{self._source.newline}" for line in lines)

    def _shifted_text(self, first: int, last: int, old: str, new: str) -> str:
        parts: list[str] = []
        for row, line in zip(range(first, last + 1), self.shifted(first, last, old, new)):
            end = self._source.line_starts[row - 1] + len(self._source.line(row))
            parts += [line, self._source.text[end : self._end_of_row(row)]]
        return "".join(parts)


def _shifted(line: str, old: str, new: str) -> str:
    """A line under another indentation; a form feed, behind which Python begins to count, keeps its place."""
    kept = line[: indent_of(line).rfind("\f") + 1]
    rest = line[len(kept) :]
    return kept + new + rest[len(old) :] if rest.startswith(old) else line
