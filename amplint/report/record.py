"""A finding as a JSON object, with the keys that ruff uses and a few more."""

from __future__ import annotations

import os
from typing import Any

from amplint.diagnostics import Diagnostic, Fix, Position, category
from amplint.engine.rule_pages import page_address
from amplint.engine.selection import all_rules
from amplint.engine.severity import severity
from amplint.report.view import View
from amplint.source import Source


def _place(position: Position) -> dict[str, int]:
    return {"row": position.cell_row or position.row, "column": position.column}


def _file_name(path: str) -> str:
    return path if path == "-" else os.path.abspath(path)


def _fix(fix: Fix | None, source: Source | None) -> dict[str, Any] | None:
    if fix is None or source is None:  # without the text, the places of the edits are not known
        return None
    edits = [
        {
            "cell": source.position(edit.start).cell or None,
            "content": edit.replacement,
            "location": _place(source.position(edit.start)),
            "end_location": _place(source.position(edit.end)),
        }
        for edit in fix.edits
    ]
    return {"applicability": fix.applicability.value, "message": fix.title, "edits": edits}


def record(diagnostic: Diagnostic, view: View) -> dict[str, Any]:
    """One finding; `filename` is absolute, rows and columns count from 1, `cell` is for notebooks.

    Args:
        diagnostic: the finding.
        view: tells whether its fix would be applied.
    """
    rule = all_rules().get(diagnostic.code)
    source = view.source(diagnostic.path) if diagnostic.fix else None
    related = [
        {
            "message": other.message,
            "filename": _file_name(other.path or diagnostic.path),
            "cell": other.range.start.cell or None,
            "location": _place(other.range.start),
            "end_location": _place(other.range.end),
        }
        for other in diagnostic.related
    ]
    return {
        "cell": diagnostic.range.start.cell or None,
        "category": category(diagnostic.code),
        "code": diagnostic.code,
        "confidence": rule.confidence if rule else None,
        "end_location": _place(diagnostic.range.end),
        "filename": _file_name(diagnostic.path),
        "fix": _fix(diagnostic.fix, source),
        "location": _place(diagnostic.range.start),
        "message": diagnostic.message,
        "name": diagnostic.name,
        "no_fix": diagnostic.no_fix or None,
        "noqa_row": _place(diagnostic.range.start)["row"],
        "note": diagnostic.note,
        "related": related,
        "severity": severity(diagnostic),
        "since": rule.since if rule else None,
        "url": page_address(diagnostic.code),
    }
