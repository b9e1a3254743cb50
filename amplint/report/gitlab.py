"""A Code Quality report, which GitLab shows in merge requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from amplint.diagnostics import Diagnostic
from amplint.engine.rule_pages import published_page
from amplint.engine.severity import ERROR, INFO, WARNING, severity
from amplint.report.fingerprints import fingerprints
from amplint.report.places import file_place, portable
from amplint.report.view import View

_SEVERITY = {ERROR: "major", WARNING: "minor", INFO: "info"}


def _issue(one: Diagnostic, fingerprint: str, view: View) -> dict[str, Any]:
    place = file_place(one.range, one.path, view)
    page = published_page(one.code)
    body = f"{one.note}\n\n{page}".strip() if page else one.note
    return {
        "check_name": one.code,
        "description": f"{one.code} {one.message}",
        "fingerprint": fingerprint,
        "location": {"path": portable(one.path), "lines": {"begin": place.row, "end": place.end_row}},
        "severity": _SEVERITY[severity(one)],
        **({"content": {"body": body}} if body else {}),
    }


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """An array of issues."""
    marks = fingerprints(diagnostics, view)
    yield json.dumps([_issue(one, mark, view) for one, mark in zip(diagnostics, marks)], indent=2) + "\n"
