"""Workflow commands, from which GitHub makes annotations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.view import View


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """An `::error` command for each finding; the message repeats the place, for the log is read without annotations."""
    for diagnostic in diagnostics:
        start, end = diagnostic.range.start, diagnostic.range.end
        path = diagnostic.path.replace(os.sep, "/")
        fields = {
            "title": f"amplint ({diagnostic.code})",
            "file": path,
            "line": str(start.cell_row or start.row),
            "col": str(start.column),
            "endLine": str(end.cell_row or end.row),
            "endColumn": str(end.column),
        }
        properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
        text = f"{path}:{start}: {diagnostic.code} {diagnostic.message}"
        yield f"::error {properties}::{_data(text)}\n"
