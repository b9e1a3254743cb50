"""SARIF 2.1.0 (OASIS), which GitHub code scanning, Azure DevOps and editors read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from amplint import __version__
from amplint.diagnostics import Diagnostic, Fix, Range
from amplint.engine.rule_pages import published_page, rule_page
from amplint.engine.selection import all_rules
from amplint.engine.severity import ERROR, INFO, WARNING, severity
from amplint.report.fingerprints import fingerprints
from amplint.report.places import as_uri, file_edits, file_place
from amplint.report.view import View
from amplint.source import Source

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {ERROR: "error", WARNING: "warning", INFO: "note"}
_ROOT = "%SRCROOT%"


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A log of one run, with the rules that found something."""
    codes = sorted({one.code for one in diagnostics})
    worst = {one.code: severity(one) for one in diagnostics}
    marks = fingerprints(diagnostics, view)
    run = {
        "tool": {
            "driver": {
                "name": "amplint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(code, worst[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which amplint was run"}}},
        **({"invocations": [_invocation(view)]} if view.unchecked else {}),
        "results": [_result(one, codes.index(one.code), mark, view) for one, mark in zip(diagnostics, marks)],
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _invocation(view: View) -> dict[str, Any]:
    """What was not checked, so that nobody takes the run for clean."""
    notifications = [
        {
            "level": "error",
            "message": {"text": message},
            **({"locations": [{"physicalLocation": {"artifactLocation": _artifact(path)}}]} if path else {}),
        }
        for path, message in view.unchecked
    ]
    return {"executionSuccessful": False, "toolExecutionNotifications": notifications}


def _rule(code: str, level: str) -> dict[str, Any]:
    """What is known of a rule: GitHub shows the help, and reads tags, precision and severity from the properties."""
    rule, page, address = all_rules().get(code), rule_page(code), published_page(code)
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _section(page, "What it does") or rule.summary},
        "help": {"text": page, "markdown": page},
        **({"helpUri": address} if address else {}),
        "defaultConfiguration": {"level": _LEVEL[level], "enabled": rule.default},
        "properties": {
            "tags": ["mixed-precision", rule.category],
            "precision": rule.confidence,
            "problem.severity": "recommendation" if level == INFO else level,
        },
    }


def _section(page: str, heading: str) -> str:
    """What stands under a heading of a page, its lines joined."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _result(one: Diagnostic, rule: int, mark: str, view: View) -> dict[str, Any]:
    source = view.source(one.path)
    fixes = _fixes(one.fix, one.path, source)
    related = [
        {"id": number, "message": {"text": other.message}, **_location(other.range, other.path or one.path, view)}
        for number, other in enumerate(one.related)
    ]
    return {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": _LEVEL[severity(one)],
        "message": {"text": f"{one.message}\n{one.note}".strip()},
        "locations": [_location(one.range, one.path, view)],
        "partialFingerprints": {"amplintFinding/v1": mark},
        **({"relatedLocations": related} if related else {}),
        **({"fixes": fixes} if fixes else {}),
    }


def _location(place: Range, path: str, view: View) -> dict[str, Any]:
    """A place in a file, and what stands there; of a notebook, the rows of its JSON, and the cell by name."""
    here, source = file_place(place, path, view), view.source(path)
    region: dict[str, Any] = {"startLine": here.row, "endLine": here.end_row}
    if here.column:
        region |= {"startColumn": here.column, "endColumn": here.end_column}
        snippet = "" if source is None else source.text[place.start.offset : place.end.offset]
        region |= {"snippet": {"text": snippet}} if snippet else {}
    cell = {"logicalLocations": [{"name": f"cell {place.start.cell}"}]} if place.start.cell else {}
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": region}, **cell}


def _artifact(path: str) -> dict[str, str]:
    uri = as_uri(path)
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": _ROOT}


def _fixes(fix: Fix | None, path: str, source: Source | None) -> list[dict[str, Any]]:
    replacements = [
        {"deletedRegion": _text_region(edit.place), "insertedContent": {"text": edit.text}}
        for edit in file_edits(fix, source)
    ]
    if fix is None or not replacements:
        return []
    said = {"text": f"{fix.title} ({fix.applicability.value} fix)"}
    changes = {"artifactLocation": _artifact(path), "replacements": replacements}
    return [{"description": said, "artifactChanges": [changes]}]


def _text_region(place: Range) -> dict[str, int]:
    start, end = place
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}
