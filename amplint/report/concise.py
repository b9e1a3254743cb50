"""One line per finding, as flake8 prints it: `path:row:column: CODE message`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.escape import printable
from amplint.report.view import View


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A line for each finding; `[*]` or `[unsafe]` at its end says that there is a fix."""
    for diagnostic in diagnostics:
        start = diagnostic.range.start
        path, code = view.paint(diagnostic.path, "bold"), view.paint(diagnostic.code, "code")
        mark = view.paint(view.mark(diagnostic.fix), "mark")
        yield f"{path}:{start}: {code} {printable(diagnostic.message)}{mark}\n"
