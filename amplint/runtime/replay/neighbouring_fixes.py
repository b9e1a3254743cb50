"""Findings on one path: where another defect hides what a fix does, the fix is judged with the other one already repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from amplint.diagnostics import Diagnostic, Fix, Range
from amplint.engine.fixed_text import apply
from amplint.runtime.verdict import CONFIRMED, PARTLY, REFUTED, Outcome
from amplint.source import Source


def judge_in_company(
    source: Source,
    diagnostic: Diagnostic,
    outcome: Outcome,
    neighbours: Iterable[Diagnostic],
    repaired_too: Callable[[Sequence[Diagnostic]], Source | None],
    replay: Callable[[Source, Source, Diagnostic], Outcome],
) -> Outcome:
    """The outcome with those neighbours repaired, before the fix and after, that kept it from a verdict; else the same one.

    Args:
        source: the file as it stands.
        diagnostic: the finding.
        outcome: what its replay alone came to.
        neighbours: the other findings in the file.
        repaired_too: the repaired file with the fixes of such neighbours besides; None where they cannot stand together.
        replay: replays a file before and after a fix, and the finding in the former.
    """
    others = [one for one in neighbours if one.name in outcome.others and one.fix is not None]
    repaired, used = apply(source, others)
    after = repaired_too(used) if used else None
    if after is None:
        return outcome
    before = replace(source, text=repaired)
    # Its edits are those of another text: whoever needs the fix of the rule looks for it again.
    fix = replace(diagnostic.fix, edits=()) if diagnostic.fix is not None else None
    judged = replay(before, after, replace(diagnostic, range=_moved(diagnostic, source, used, before), fix=fix))
    if judged.verdict not in (CONFIRMED, PARTLY, REFUTED):
        return outcome
    return replace(judged, together=tuple(f"{one.code} in line {one.range.start.row}" for one in used))


def _moved(diagnostic: Diagnostic, source: Source, used: Sequence[Diagnostic], repaired: Source) -> Range:
    """Where a finding is once the fixes of others have been applied; none of their edits lies inside it."""
    start, end = (position.offset for position in diagnostic.range)
    ahead = {edit for one in used if one.fix is not None for edit in one.fix.edits if edit.end <= start}
    moved, _ = apply(source, [replace(diagnostic, fix=Fix("", tuple(sorted(ahead))))])
    shift = len(moved) - len(source.text)
    return repaired.range(start + shift, end + shift)
