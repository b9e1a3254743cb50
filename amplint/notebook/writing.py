"""An edited cell as JSON, laid out as it was."""

from __future__ import annotations

import difflib
import json

from amplint.notebook.cells import Cell
from amplint.notebook.places import scan


class CellsCrossed(ValueError):
    """An edit reaches from one cell into another, or into what only IPython understands; the message is one line."""


def differs(cell: Cell, source: str) -> bool:
    """Whether `source` is another module text than the one that stands for a cell.

    Args:
        cell: as it was read.
        source: its part of the module now.
    """
    return source.rstrip("\n") != "".join(cell.masked).rstrip("\n")


def rendered(raw: str, cell: Cell, source: str) -> str:
    """The JSON of an edited cell's source, laid out as it was.

    Args:
        raw: the JSON text of the notebook.
        cell: as it was read.
        source: its part of the module now.

    Raises:
        CellsCrossed: a masked line was changed.
    """
    lines = unmasked_lines(cell, source)
    ascii_only = raw.isascii() and "\\u" in raw
    start, end = cell.place
    if raw[start] == '"':
        return json.dumps("".join(line for line, _ in lines), ensure_ascii=ascii_only)
    strings = [
        raw[slice(*cell.literals[index])]
        if cell.literals and index is not None and cell.lines[index] == line
        else json.dumps(line, ensure_ascii=ascii_only)
        for line, index in lines
    ]
    if not strings:
        return "[]"
    before, between, after = _layout(raw, cell)
    return f"[{before}{f',{between}'.join(strings)}{after}]"


def unmasked_lines(cell: Cell, source: str) -> list[tuple[str, int | None]]:
    """The lines of an edited cell; what was masked is itself again.

    Args:
        cell: as it was read.
        source: its part of the module now.

    Returns:
        Each line with the number (0-based) that it had before, or None where it was not there.

    Raises:
        CellsCrossed: a masked line was changed.
    """
    ended = [line if line.endswith("\n") else f"{line}\n" for line in cell.masked]
    new = source.splitlines(keepends=True)
    found: list[tuple[str, int | None]] = []
    kept: set[int] = set()
    for tag, old_start, old_end, start, end in difflib.SequenceMatcher(None, ended, new, autojunk=False).get_opcodes():
        if tag == "equal":
            kept.update(range(old_start, old_end))
            found += [(cell.lines[index], index) for index in range(old_start, old_end)]
        else:
            found += [(line, None) for line in new[start:end]]
    if any(cell.lines[index] != cell.masked[index] for index in range(len(cell.lines)) if index not in kept):
        raise CellsCrossed(f"the fix touches a line of cell {cell.number} that only IPython understands")
    last = len(cell.lines) - 1
    lines = [(f"{line}\n" if index == last and not line.endswith("\n") else line, index) for line, index in found]
    if lines and not cell.lines[-1].endswith("\n"):
        lines[-1] = (lines[-1][0].removesuffix("\n"), lines[-1][1])
    return lines


def _layout(raw: str, cell: Cell) -> tuple[str, str, str]:
    """The white space after `[`, between two lines, and before `]`."""
    items = scan(raw, cell.place[0]).value
    if not items:
        return "", " ", ""
    before = raw[cell.place[0] + 1 : items[0].start]
    between = raw[items[0].end : items[1].start].partition(",")[2] if len(items) > 1 else before or " "
    return before, between, raw[items[-1].end : cell.place[1] - 1]
