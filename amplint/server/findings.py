"""Findings as an editor shows them: squiggles, and the pages of rules."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from amplint.diagnostics import Diagnostic
from amplint.engine.rule_pages import page_address, rule_page
from amplint.engine.selection import UNUSED_SUPPRESSION, all_rules
from amplint.engine.severity import ERROR, INFO, WARNING, severity
from amplint.server.checks import Checked
from amplint.server.client_places import ClientPlaces

SOURCE = "amplint"
_SEVERITIES = {
    ERROR: types.DiagnosticSeverity.Error,
    WARNING: types.DiagnosticSeverity.Warning,
    INFO: types.DiagnosticSeverity.Information,
}
_TAGS = {
    "AMP209": [types.DiagnosticTag.Deprecated],
    UNUSED_SUPPRESSION: [types.DiagnosticTag.Unnecessary],
}


def by_address(checked: Checked, places: ClientPlaces) -> dict[str, list[types.Diagnostic]]:
    """What to show in each part of a document, by its address; those in which nothing was found are there, too.

    Args:
        checked: the document.
        places: tells where things are in it.
    """
    parts: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in checked.snapshot.parts}
    if checked.report.error:
        first = next(iter(parts.values()), [])
        first.append(_not_checked(checked.report.error))
    for finding in checked.report.diagnostics:
        where = places.location(finding.range)
        parts.setdefault(where.uri, []).append(diagnostic(finding, places))
    return parts


def diagnostic(finding: Diagnostic, places: ClientPlaces) -> types.Diagnostic:
    """A finding in the words of the protocol.

    Args:
        finding: the finding.
        places: tells where things are.
    """
    address = page_address(finding.code)
    related = [
        types.DiagnosticRelatedInformation(places.location(other.range, other.path), other.message)
        for other in finding.related
    ]
    return types.Diagnostic(
        places.location(finding.range).range,
        "\n".join(filter(None, (finding.message, finding.note))),
        _SEVERITIES[severity(finding)],
        finding.code,
        types.CodeDescription(address) if address else None,
        source=SOURCE,
        tags=_TAGS.get(finding.code),
        related_information=related,
    )


def _not_checked(why: str) -> types.Diagnostic:
    start = types.Position(0, 0)
    message = f"Not checked: {why.removesuffix('; not checked')}"
    return types.Diagnostic(types.Range(start, start), message, types.DiagnosticSeverity.Warning, source=SOURCE)


def at(checked: Checked, places: ClientPlaces, uri: str, *ranges: types.Range) -> list[Diagnostic]:
    """The findings that ranges of a document, or of a cell, touch.

    Args:
        checked: the document.
        places: tells where things are in it.
        uri: the address of the document or the cell.
        *ranges: the ranges.
    """
    located = ((finding, places.location(finding.range)) for finding in checked.report.diagnostics)
    return [
        finding
        for finding, place in located
        if place.uri == uri and any(_touch(place.range, where) for where in ranges)
    ]


def _touch(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def pages(findings: Iterable[Diagnostic]) -> str:
    """The pages of the rules of findings, in Markdown; empty for none."""
    codes = dict.fromkeys(finding.code for finding in findings)
    return "\n\n---\n\n".join(_page(code) for code in codes)


def _page(code: str) -> str:
    return f"# {code} {all_rules()[code].name}\n\n{rule_page(code).strip()}"
