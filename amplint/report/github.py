"""Workflow commands, from which GitHub makes annotations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic, Position
from amplint.report.escape import printable
from amplint.report.view import View
from amplint.source import Source


def _data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _place(start: Position, end: Position, source: Source | None) -> dict[str, str]:
    """The place in the file, which for a notebook is JSON: there only the lines can be told."""
    if source is None or source.notebook is None:
        lines = {"line": start.row, "col": start.column, "endLine": end.row, "endColumn": end.column}
    else:
        first = source.notebook.line_in_file(start.cell, start.cell_row)
        lines = {"line": first, "endLine": max(first, source.notebook.line_in_file(end.cell, end.cell_row))}
    return {name: str(number) for name, number in lines.items()}


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """An `::error` command for each finding; the message repeats the place, for the log is read without annotations."""
    for diagnostic in diagnostics:
        start, end = diagnostic.range.start, diagnostic.range.end
        path = diagnostic.path.replace(os.sep, "/")
        fields = {
            "title": f"amplint ({diagnostic.code})",
            "file": path,
            **_place(start, end, view.source(diagnostic.path) if start.cell else None),
        }
        properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
        text = f"{path}:{start}: {diagnostic.code} {diagnostic.message}"
        yield f"::error {properties}::{_data(text)}\n"
