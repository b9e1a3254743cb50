"""Findings that tell of one defect: the first stands for all, the others are its related places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from amplint.diagnostics import ALSO, Applicability, Edit, Fix, NoFix, Range, Related
from amplint.model.records import frozen


@frozen
class Finding:
    """What a rule found; the engine adds code, name and path.

    `defect` is what shows at several places, such as what goes wrong in a helper that several calls lead to: findings with
    the same one are told once.
    """

    range: Range
    message: str
    note: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | NoFix | None = None
    needs: frozenset[str] = frozenset()
    defect: Hashable = None


def told_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those of one defect as one, at the first of their places."""
    groups: dict[tuple[str, Hashable], list[Finding]] = {}
    for index, each in enumerate(findings):
        key = ("place", index) if each.defect is None else ("defect", each.defect)
        groups.setdefault(key, []).append(each)
    for group in groups.values():
        yield group[0] if len(group) == 1 else _as_one(sorted(group, key=lambda each: each.range.start.offset))


def _as_one(group: Sequence[Finding]) -> Finding:
    first = group[0]
    places = dict.fromkeys(each.range for each in group if each.range != first.range)
    also = tuple(Related(ALSO, place) for place in places)
    return replace(first, related=(*first.related, *also), fix=_together([each.fix for each in group]))


def _together(fixes: Sequence[Fix | NoFix | None]) -> Fix | NoFix | None:
    """One fix that does what all of them do; that of the first where they get into each other's way, or one is missing."""
    every = [fix for fix in fixes if isinstance(fix, Fix)]
    first = fixes[0]
    if not isinstance(first, Fix) or len(every) < len(fixes):
        return first
    edits = sorted(dict.fromkeys(edit for fix in every for edit in fix.edits))
    if any(_touch(one, other) for one, other in zip(edits, edits[1:])):
        return first
    return Fix(first.title, tuple(edits), Applicability.least(fix.applicability for fix in every))


def _touch(one: Edit, other: Edit) -> bool:
    return other.start < one.end or (one.start, one.end) == (other.start, other.end)
