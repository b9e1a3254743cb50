"""Defects in code that several files share, which a run tells once: a loop of a base class around methods of its subclasses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from amplint.diagnostics import OUTSIDE, Diagnostic, FileReport, Range, Related

_Defect = tuple[str, str, Range]
"""The code of a finding, and where the defect is: the file, and the place in it."""


def defects_told_once(reports: Sequence[FileReport]) -> Iterator[FileReport]:
    """The reports with each defect that other files share told in the first file, which names the places in the others.

    Args:
        reports: those on all files, in their order.
    """
    sharing: dict[_Defect, list[Diagnostic]] = {}
    for report in reports:
        for each in report.diagnostics:
            if (shared := _shared(each)) is not None:
                sharing.setdefault(shared, []).append(each)
    for report in reports:
        if any(map(_shared, report.diagnostics)):
            told = (_with_others(each, sharing) for each in report.diagnostics)
            report = replace(report, diagnostics=tuple(each for each in told if each is not None))
        yield report


def _shared(finding: Diagnostic) -> _Defect | None:
    """The defect that a finding may share with those of other files."""
    places = (each for each in finding.related if each.message == OUTSIDE and each.path)
    return next(((finding.code, each.path, each.range) for each in places), None)


def _with_others(finding: Diagnostic, sharing: dict[_Defect, list[Diagnostic]]) -> Diagnostic | None:
    """A finding with the places of those in other files, of which it is the first; None where another one is."""
    shared = _shared(finding)
    if shared is None:
        return finding
    first, *others = sharing[shared]
    beside = [each for each in others if each.path != first.path]
    if finding.path != first.path:
        return None
    also = tuple(Related("in the same way here", each.range, each.path) for each in beside) if finding is first else ()
    return replace(finding, related=(*finding.related, *also))
