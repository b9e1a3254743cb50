"""All findings as one JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.record import record
from amplint.report.view import View


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """The array, indented, one object for each finding."""
    yield json.dumps([record(diagnostic, view) for diagnostic in diagnostics], indent=2) + "\n"
