"""Findings as a host of code knows them: by the file as it lies there, of a notebook the JSON, and by a path from the top."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from amplint.diagnostics import Fix, Position, Range
from amplint.model.records import NamedTuple
from amplint.notebook import CellsCrossed
from amplint.report.diff import applied
from amplint.report.view import View
from amplint.source import Source


class FilePlace(NamedTuple):
    """Rows and columns, both from 1, up to and not including the end; in a notebook there are only rows."""

    row: int
    column: int | None
    end_row: int
    end_column: int | None


class FileEdit(NamedTuple):
    """What replaces what in a file."""

    place: Range
    text: str


def portable(path: str) -> str:
    """A path with forward slashes, as seen from the current folder if it lies below that; `-` is what stdin is called."""
    inside = path if path == "-" or _is_elsewhere(path) else os.path.relpath(path)
    return inside.replace(os.sep, "/")


def _is_elsewhere(path: str) -> bool:
    return not Path(os.path.abspath(path)).is_relative_to(os.getcwd())


def as_uri(path: str) -> str:
    """A path as a reference in the sense of RFC 3986: relative below the current folder, `file:` elsewhere."""
    if path != "-" and _is_elsewhere(path):
        return "file://" + quote(os.fsencode(os.path.abspath(path).replace(os.sep, "/")))
    return quote(os.fsencode(portable(path)))


def file_place(place: Range, path: str, view: View) -> FilePlace:
    """Where a place lies in its file.

    Args:
        place: the place in the text of the file, in a notebook that of its cells.
        path: the file.
        view: knows its text.
    """
    start, end = place
    source = view.source(path) if start.cell else None
    if source is None or source.notebook is None:
        return FilePlace(start.row, start.column, end.row, end.column)
    first = source.notebook.line_in_file(start.cell, start.cell_row)
    return FilePlace(first, None, max(first, source.notebook.line_in_file(end.cell, end.cell_row)), None)


def file_edits(fix: Fix | None, source: Source | None) -> Sequence[FileEdit]:
    """The edits of a fix to its file, in order; in a notebook it is one. None where there is no fix that may be applied.

    Args:
        fix: the fix, if any.
        source: the text that it is for, if it can be read.
    """
    if fix is None or source is None or not fix.is_applied():
        return ()
    if source.notebook is not None:
        return whole_edit(fix, source)
    return [FileEdit(source.range(edit.start, edit.end), edit.replacement) for edit in fix.edits]


def whole_edit(fix: Fix | None, source: Source | None) -> Sequence[FileEdit]:
    """All that a fix changes in its file as one edit; none as for `file_edits`.

    Args:
        fix: the fix, if any.
        source: the text that it is for, if it can be read.
    """
    if fix is None or source is None or not fix.is_applied():
        return ()
    try:
        before, after = file_text(source), applied(source.text, fix.edits)
        after = after if source.notebook is None else source.notebook.edited(after)
    except CellsCrossed:
        return ()
    start = _shared(before, after)
    rest = _shared(before[start:][::-1], after[start:][::-1])
    changed = Source("", before).range(start, len(before) - rest)
    return [FileEdit(changed, after[start : len(after) - rest])]


def file_text(source: Source) -> str:
    """The text of a file as it lies there: of a notebook, the JSON."""
    return source.text if source.notebook is None else source.notebook.raw


def _shared(one: str, other: str) -> int:
    """How many characters both texts begin with."""
    return bisect_left(range(1, min(len(one), len(other)) + 1), True, key=lambda length: one[:length] != other[:length])


def byte_column(position: Position, source: Source) -> int:
    """The column of a position counted in bytes of UTF-8, from 1.

    Args:
        position: the position.
        source: the text that it is in.
    """
    return len(source.line(position.row)[: position.column - 1].encode("utf-8", "surrogatepass")) + 1
