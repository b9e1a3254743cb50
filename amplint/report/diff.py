"""What changes in a text, as a unified diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Edit
from amplint.report.escape import quoted_path

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_STYLES = {"+": "added", "-": "removed", "@": "place"}


def lines(text: str) -> list[str]:
    """The lines of a text with their ends, as Python counts lines."""
    return _LINE.findall(text)


def unified(before: str, after: str, path: str, context: int = 3) -> Iterator[str]:
    """The lines of a diff between two texts of one file, exact but for a name that must be quoted; none when they are equal.

    Args:
        before: the text as it was.
        after: the text as it is to be.
        path: what to call the file in both headers.
        context: how many lines to show around a change.
    """
    name = quoted_path(path)
    for line in difflib.unified_diff(lines(before), lines(after), name, name, n=context):
        if line.endswith(("\n", "\r")):
            yield line
        else:
            yield from (f"{line}\n", "\\ No newline at end of file\n")


def style(line: str) -> str:
    """The style in which a line of a diff is shown; empty when it is plain."""
    if line.startswith(("+++", "---")):
        return "bold"
    return _STYLES.get(line[:1], "")


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits of one fix made.

    Args:
        text: the text as it stands.
        edits: the edits, in order.
    """
    pieces: list[str] = []
    position = 0
    for edit in edits:
        pieces += (text[position : edit.start], edit.replacement)
        position = edit.end
    return "".join([*pieces, text[position:]])
