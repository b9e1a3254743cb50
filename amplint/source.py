"""A file as text: encoding, byte order mark, line ends, and places in it.

Only `\\n`, `\\r\\n` and `\\r` end a line, as in Python's own tokenizer; `str.splitlines` knows more and must not be used.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplint.diagnostics import Position, Range
from amplint.model.records import NamedTuple, frozen
from amplint.system.text_encoding import BYTE_ORDER_MARK, SourceError, decoded, is_faithful

if TYPE_CHECKING:
    from amplint.model.caller_contexts import FromElsewhere
    from amplint.notebook import Notebook

_NOTEBOOK = ".ipynb"
_LINE_END = re.compile(r"\r\n|\r|\n")


class InvalidNotebook(SourceError):
    """What is called a notebook is none; the message is one line without the path."""


SOURCE_FOLDERS = ("src", "lib", "core")
"""Folders that projects install, or that their scripts put on Python's path, so that modules are found in them, too."""


class FileLocation(NamedTuple):
    """Where a file lies, and the root of its project, both absolute: what it imports from there is followed.

    `wrappers` are files that stand for modules whose source is not at hand, by the name of the module; `entered` is how other
    files enter its functions, and what functions of theirs give back to it; `options` are those of rules that the project
    sets, by code and name.
    """

    path: Path
    root: Path
    wrappers: tuple[tuple[str, Path], ...] = ()
    entered: tuple[FromElsewhere, ...] = ()
    options: tuple[tuple[tuple[str, str], Any], ...] = ()

    @property
    def names_entered(self) -> frozenset[str]:
        """What other files call the functions, classes and methods that they enter."""
        return frozenset(name for each in self.entered for name in each.names)


@frozen
class Source:
    """One Python file: the decoded text without its byte order mark, and how to turn text back into its bytes."""

    path: str
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    place: FileLocation | None = None
    notebook: Notebook | None = None
    """The notebook that the text is the module of."""
    faithful: bool = True
    """Whether the text, encoded, gives the bytes it was read from: some encodings can write one text in several ways."""

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> Source:
        """Decode by the byte order mark or the coding cookie (PEP 263).

        Args:
            path: the path as the user shall see it; its suffix tells notebooks.
            data: the content.

        Raises:
            SourceError: NUL bytes, an unknown encoding, or bytes that the encoding does not have.
            InvalidNotebook: a file that is called a notebook is none, for these reasons or others.
        """
        bom = data.startswith(BYTE_ORDER_MARK)
        if not is_notebook(path):
            text, encoding = decoded(data)
            return cls(
                path, text, encoding, bom, faithful=is_faithful(text, encoding, data.removeprefix(BYTE_ORDER_MARK))
            )
        from amplint.notebook import Notebook, NotebookError  # few files are notebooks

        try:
            text, encoding = decoded(data)
            notebook = Notebook.read(text)
        except (SourceError, NotebookError) as error:
            raise InvalidNotebook(str(error)) from error
        return cls(path, notebook.text, encoding, bom, notebook=notebook)

    def encode(self, text: str) -> bytes:
        """`text` as the bytes of this file: same encoding, same byte order mark.

        Raises:
            UnicodeError: the encoding of the file lacks a character of `text`; most say which, by a `UnicodeEncodeError`.
            CellsCrossed: the text is not that of a notebook with the same cells.
        """
        text = self.notebook.edited(text) if self.notebook is not None else text
        return (BYTE_ORDER_MARK if self.bom else b"") + text.encode(self.encoding)

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line begins; row `r` begins at `line_starts[r - 1]`."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses first; `\\n` for a file of one line."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def position(self, offset: int) -> Position:
        """Row and column (1-based) of an offset."""
        row = bisect_right(self.line_starts, offset)
        column = offset - self.line_starts[row - 1] + 1
        return Position(row, column, offset, *(self._cell_place(row) if self.notebook is not None else ()))

    def _cell_place(self, row: int) -> tuple[int, int]:
        """The number of the cell that a row lies in, and the row in that cell."""
        assert self.notebook is not None
        index = max(bisect_right(self._cell_starts, row) - 1, 0)
        numbers = self.notebook.numbers
        return numbers[min(index, len(numbers) - 1)] if numbers else 1, row - self._cell_starts[index] + 1

    @cached_property
    def _cell_starts(self) -> list[int]:
        """The rows at which the cells of a notebook begin; a fix may have moved them since it was read."""
        from amplint.notebook import PARTING

        rows = range(1, len(self.line_starts) + 1)
        return [1, *(row + 1 for row in rows if PARTING.fullmatch(self.line(row)))]

    def rows_beside(self, row: int) -> range:
        """The rows that are read with a row: those of the file, in a notebook those of its cell."""
        if self.notebook is None:
            return range(1, len(self.line_starts) + 1)
        index = bisect_right(self._cell_starts, row)
        is_last = index == len(self._cell_starts)
        return range(
            self._cell_starts[index - 1], len(self.line_starts) + 1 if is_last else self._cell_starts[index] - 1
        )

    def line_name(self, row: int) -> str:
        """What to call a row: `line 7`, in a notebook `line 3 of cell 2`."""
        if self.notebook is None:
            return f"line {row}"
        cell, row = self._cell_place(row)
        return f"line {row} of cell {cell}"

    def inside_cell(self, offset: int) -> int:
        """The offset, or the end of the cell before it where it lies between two cells."""
        if self.notebook is None:
            return offset
        row = bisect_right(self.line_starts, offset)
        while row > 1 and row + 1 in self._cell_starts:
            row -= 1
            offset = self.line_starts[row] - 1
        return offset

    def range(self, start: int, end: int) -> Range:
        """The range between two offsets.

        Args:
            start: where it begins.
            end: where it ends, behind its last character.
        """
        return Range(self.position(start), self.position(end))

    def offset(self, row: int, column: int) -> int:
        """The offset of a place in the text.

        Args:
            row: counted from 1.
            column: counted from 0, in characters.
        """
        return self.line_starts[row - 1] + column

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    def offset_of_bytes(self, row: int, column: int) -> int:
        """The offset of a place as Python's own tree tells it.

        Args:
            row: counted from 1.
            column: counted from 0, in bytes of UTF-8.
        """
        if not self._is_ascii and not (line := self.line(row)).isascii():
            column = len(line.encode()[:column].decode())
        return self.line_starts[row - 1] + column

    def line(self, row: int) -> str:
        """The text of a row, without its line end."""
        start = self.line_starts[row - 1]
        end = self.line_starts[row] if row < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def written(self, row: int) -> str:
        """The text of a row as its author wrote it: in a notebook, lines that only IPython understands are masked."""
        return self.line(row) if self.notebook is None else self._written[row - 1].rstrip("\r\n")

    @cached_property
    def _written(self) -> list[str]:
        assert self.notebook is not None
        return io.StringIO(self.notebook.unmasked(self.text), newline="").readlines() + [""]

    def indent(self, row: int) -> str:
        """The white space that indents a row: what stands before a form feed counts for nothing."""
        return indent_of(self.line(row)).rpartition("\f")[2]


def indent_of(line: str) -> str:
    """The white space that a line begins with, form feeds and all."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def is_notebook(path: str) -> bool:
    """Whether a file is called a notebook."""
    return path.endswith(_NOTEBOOK)
