"""One JSON object per line and finding."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.record import record
from amplint.report.view import View


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A line for each finding."""
    for diagnostic in diagnostics:
        yield json.dumps(record(diagnostic, view)) + "\n"
