"""A patch, whoever wrote it: what it makes of each finding, by the criterion for amplint's own fixes, and which it adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from amplint.diagnostics import Diagnostic
from amplint.engine.finding_matching import ALIKE, common_lines, placed_after, placed_before, still_found
from amplint.engine.fixed_text import apply, compiles
from amplint.engine.registry import load_rules
from amplint.python_ast.definitions import DefinitionRows, around, definitions
from amplint.runtime.evidence import Evidence
from amplint.runtime.repairs import Repair
from amplint.runtime.verdict import ADDED, CONFIRMED, ERROR, NOT_REPLAYABLE, PARTLY, REFUTED, REMOVED, STANDS, Outcome
from amplint.runtime.verify import ReplayPlan, verify_repairs
from amplint.source import Source


class PatchedFile(NamedTuple):
    """A file before a patch and after it.

    Attributes:
        name: what the file is known by on both sides.
        before: the file; None for one that the patch adds.
        after: what the patch made of it; None for one that it removes.
        found: the findings before it, in order.
        remaining: those after it.
    """

    name: str
    before: Source | None
    after: Source | None
    found: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]


def judge_patch(
    files: Sequence[PatchedFile], how: ReplayPlan, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Evidence]:
    """What a patch makes of each finding, file by file; then, for each file, the findings that it adds.

    Args:
        files: all files of both sides that hold a finding on one of them.
        how: the device, and what a replay may take.
        on_progress: called with the number of findings replayed and of all that are, whenever one is done.

    Raises:
        DeviceError: there is no PyTorch.
    """
    still = _still_found(files)
    observed = {rule.code for rule in load_rules() if rule.observable is not None}
    items = [(file, item) for file in files for item in _items(file, still, observed, how)]
    replayed = verify_repairs([item for _, item in items if isinstance(item, Repair)], how, on_progress)
    for file, item in items:
        yield _moderated(next(replayed), file, still) if isinstance(item, Repair) else item


_Still = Mapping[Diagnostic, Diagnostic]
"""The findings of before that are there after the patch, each with what it has become."""


def _still_found(files: Sequence[PatchedFile]) -> _Still:
    return still_found(
        [one for each in files if each.before for one in placed_before(each.found, each.name, each.before, each.after)],
        [
            one
            for each in files
            if each.after
            for one in placed_after(each.remaining, each.name, each.after, each.before)
        ],
    )


def _items(file: PatchedFile, still: _Still, observed: Collection[str], how: ReplayPlan) -> Iterator[Evidence | Repair]:
    before, after = file.before, file.after

    def settled(finding: Diagnostic, old: Source, new: Source, outcome: Outcome) -> Evidence:
        return Evidence(finding, old, new, outcome, how.device, how.seed, 0.0, new.path)

    for finding in (one for one in file.found if one.code in observed):
        assert before is not None, "what is found was there"
        if after is None:
            yield settled(finding, before, replace(before, text=""), Outcome(REMOVED, "the file is gone"))
            continue
        plain = _without_replay(finding, before, after, still.get(finding))
        if plain is not None:
            yield settled(finding, before, after, plain)
            continue
        others = tuple(one for one in file.found if one != finding)
        yield Repair(before, after, finding, others, patched=True, remaining=file.remaining)
    known = set(still.values())
    for finding in (one for one in file.remaining if one not in known):
        assert after is not None, "what is found is there"
        yield settled(finding, before or replace(after, text=""), after, Outcome(ADDED, finding.message))


def _without_replay(finding: Diagnostic, before: Source, after: Source, there: Diagnostic | None) -> Outcome | None:
    """What is plain from the two texts, as far as anything is."""
    function = around(before.text, finding.range.start.row)
    if there is not None and _code_around(before, finding) == _code_around(after, there):
        return Outcome(STANDS, f"its code is the same, at {_place(there)}")
    if there is not None or function is None or not compiles(after.text):
        return None
    known, now = ({one.name: one for one in definitions(source.text)} for source in (before, after))
    if function.name in now:
        return None
    lost = _lines_of(before, function)
    shares = {name: common_lines(lost, _lines_of(after, one)) for name, one in now.items() if name not in known}
    heir = max(shares, key=lambda name: shares[name], default="")
    if heir and shares[heir] >= ALIKE:
        return Outcome(
            NOT_REPLAYABLE, f"`{function.name}` has become `{heir}`: functions with a new name are not followed"
        )
    return Outcome(REMOVED, f"the code of the finding was removed: there is no `{function.name}` any more")


def _code_around(source: Source, finding: Diagnostic) -> str:
    """The text of the function that a finding stands in, or of the whole file."""
    row = finding.range.start.row
    function = around(source.text, row)
    if function is None:
        return source.text
    return _lines_of(source, function)


def _lines_of(source: Source, function: DefinitionRows) -> str:
    return "\n".join(source.line(row).strip() for row in range(function.first, function.last + 1))


def _moderated(evidence: Evidence, file: PatchedFile, still: _Still) -> Evidence:
    """The evidence on a replay; a patch that leaves a finding as it was, and is not about it, is not refuted by that."""
    outcome, there = evidence.outcome, still.get(evidence.diagnostic)
    if there is None or outcome.verdict in (CONFIRMED, PARTLY, ERROR):
        return evidence
    if outcome.verdict == REFUTED and (outcome.before != outcome.after or _is_tried(evidence.diagnostic, file, still)):
        return evidence
    return replace(evidence, outcome=replace(outcome, verdict=STANDS, reason=f"it is found at {_place(there)}"))


def _is_tried(finding: Diagnostic, file: PatchedFile, still: _Still) -> bool:
    """Whether a patch writes a line that the fix of a finding would write, and that no finding that is gone accounts for."""
    if file.before is None or file.after is None or finding.fix is None:
        return False
    written = _new_lines(file.before.text, file.after.text)
    for one in file.found:
        if one not in still:
            written -= _own_lines(file.before, one)
    return bool(written & _own_lines(file.before, finding))


def _own_lines(source: Source, finding: Diagnostic) -> Counter[str]:
    """The lines that the fix of a finding writes."""
    return Counter() if finding.fix is None else _new_lines(source.text, apply(source, [finding])[0])


def _new_lines(before: str, after: str) -> Counter[str]:
    old, new = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (before, after))
    return new - old


def _place(finding: Diagnostic) -> str:
    return f"{finding.path}:{finding.range.start}"
