"""How findings are to be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amplint.diagnostics import Applicability, Fix
from amplint.model.records import NamedTuple
from amplint.report.escape import printable
from amplint.source import Source

STYLES = {
    "bold": "1", "code": "1;31", "quiet": "2", "mark": "36", "place": "34", "added": "32", "removed": "31",
    "error": "1;31", "warning": "1;33", "info": "1;36",
}  # fmt: skip
"""The parameters of the terminal sequence for each style, those of severities among them."""


class View(NamedTuple):
    """What the formats share.

    `source` gives the text that a path's findings refer to, None when it cannot be read any more. `unsafe`: unsafe fixes
    count as applicable. `unchecked` is what was not checked, and why; the path is empty where it is about the whole run.
    """

    source: Callable[[str], Source | None]
    unsafe: bool = False
    color: bool = False
    unchecked: Sequence[tuple[str, str]] = ()

    def applies(self, fix: Fix | None) -> bool:
        """Whether `--fix` would apply the fix."""
        return fix is not None and fix.is_applied(self.unsafe)

    def mark(self, fix: Fix | None) -> str:
        """What a line on a finding ends in, to say what may become of it; begins with a space unless empty."""
        if self.applies(fix):
            return " [*]"
        return " [unsafe]" if fix is not None and fix.applicability is Applicability.UNSAFE else ""

    def paint(self, text: str, style: str, tabs: bool = False) -> str:
        """The text, safe to show (see `printable`), and in a style of `STYLES` where colours are wanted.

        Args:
            text: the text, whoever wrote it.
            style: a key of `STYLES`; empty for plain text.
            tabs: whether tabs stay as they are, as in code.
        """
        text = printable(text, tabs)
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.color and text and style else text


def count(number: int, noun: str) -> str:
    """Such as `1 finding`, `2 findings`.

    Args:
        number: how many.
        noun: what is counted, in the singular.
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")
