"""A block for each file: its name, and a line per finding below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from amplint.diagnostics import Diagnostic
from amplint.engine.severity import severity
from amplint.report.escape import printable
from amplint.report.view import View


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """Place, severity, code and message, in columns; a blank line after each file."""
    for path, found in groupby(diagnostics, key=lambda diagnostic: diagnostic.path):
        here = list(found)
        width = max(len(str(one.range.start)) for one in here)
        yield f"{view.paint(path, 'bold')}:\n"
        for one in here:
            level = severity(one)
            mark = view.paint(view.mark(one.fix), "mark")
            code, message = view.paint(one.code, level), printable(one.message)
            yield f"  {one.range.start!s:<{width}}  {level:7}  {code} {message}{mark}\n"
        yield "\n"
