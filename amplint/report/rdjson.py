"""Reviewdog's format, from which it makes review comments with suggestions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from amplint.diagnostics import Diagnostic, Range
from amplint.engine.rule_pages import published_page
from amplint.engine.severity import severity
from amplint.report.places import byte_column, file_place, file_text, portable, whole_edit
from amplint.report.view import View
from amplint.source import Source


def _range(place: Range, source: Source) -> dict[str, Any]:
    """A range with columns in bytes, as reviewdog counts them."""
    start, end = ({"line": each.row, "column": byte_column(each, source)} for each in place)
    return {"start": start, "end": end}


def _location(one: Diagnostic, source: Source | None, view: View) -> dict[str, Any]:
    if source is not None and source.notebook is None:
        where = _range(one.range, source)
    else:
        place = file_place(one.range, one.path, view)
        where = {"start": {"line": place.row}, "end": {"line": place.end_row}}
    return {"path": portable(one.path), "range": where}


def _suggestions(one: Diagnostic, source: Source | None) -> list[dict[str, Any]]:
    """The fix as one edit: reviewdog offers each suggestion for itself."""
    return [
        {"range": _range(edit.place, Source("", file_text(source))), "text": edit.text}
        for edit in whole_edit(one.fix, source)
        if source is not None
    ]


def _diagnostic(one: Diagnostic, view: View) -> dict[str, Any]:
    source, page = view.source(one.path), published_page(one.code)
    return {
        "message": f"{one.message}\n{one.note}".strip(),
        "location": _location(one, source, view),
        "severity": severity(one).upper(),
        "code": {"value": one.code, **({"url": page} if page else {})},
        "suggestions": _suggestions(one, source),
    }


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A `DiagnosticResult`."""
    found = [_diagnostic(one, view) for one in diagnostics]
    yield json.dumps({"source": {"name": "amplint"}, "diagnostics": found}, indent=2) + "\n"
