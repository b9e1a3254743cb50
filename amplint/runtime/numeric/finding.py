"""What comes of a finding: what its body returns or runs backward, as the code stands and with the fix."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from amplint.diagnostics import Diagnostic
from amplint.runtime.changes import Change, changes, changes_in, function_at
from amplint.runtime.numeric.body_results import BACKWARD, RETURN, BodyResult, matching
from amplint.runtime.numeric.choices import Path
from amplint.runtime.numeric.expression import (
    Apply,
    Expression,
    Literal,
    Outside,
    Thing,
    is_same,
    subexpressions,
)
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.finding_place import body_holding, body_of, counterparts, part_at, same_body, span_after
from amplint.runtime.numeric.reader import Reader
from amplint.runtime.text_edits import edits_between
from amplint.runtime.training.run_record import NotReplayable


class Differing(NamedTuple):
    """Something that a body comes to otherwise with the fix, by how the code calls it."""

    what: str
    before: Expression
    after: Expression


@dataclass(frozen=True)
class Pair:
    """What comes of a finding, as the code stands and with the fix.

    Attributes:
        before, after: two expressions; None for one that nothing comes of any more.
        marks: the finding's own part of each.
        kind: as in `amplint.runtime.numeric.reader.BodyResult`.
        is_unscaled: whether a scaler scales the first, and not the second.
        elsewhere: what else the body comes to, where it differs: as it stands, and with the fix.
        beyond: the other statements that have changed.
        own: what comes of the finding with the fix of its rule, where another repair is judged.
    """

    before: Expression
    after: Expression | None
    marks: tuple[tuple[Apply, ...], tuple[Apply, ...]]
    kind: str
    is_unscaled: bool
    elsewhere: Sequence[Differing]
    beyond: Sequence[str]
    own: Expression | None = None


def pairs(facts: DtypeTrace, fixed: DtypeTrace, diagnostic: Diagnostic, is_patch: bool = False) -> Iterator[Pair]:
    """What comes of a finding: the loss that is differentiated, or what is returned, or assigned; the furthest first.

    Args:
        facts: what the dtype flow knows of the file as it stands.
        fixed: what it knows of the file with the fix.
        diagnostic: the finding.
        is_patch: whether somebody else's patch is judged, of which no more counts than what it does to the functions read.

    Raises:
        NotReplayable: the finding, or what comes of it, is not found, or needs something that is not on the closed list.
    """
    edits = edits_between(facts.file.source.text, fixed.file.source.text)
    span = diagnostic.range.start.offset, diagnostic.range.end.offset
    node, inner = body_of(facts, span)
    frame = body_holding(facts, inner, edits)
    path = Path(node)
    reader = Reader(facts, path)
    reader.read_body(frame)
    other = Reader(fixed, Path(None, path.taken, is_settled=True))
    other.read_body(same_body(facts, fixed, frame))
    moved = span_after(span, edits)
    problem = ""
    found = False
    for result in _furthest_first(reader.results):
        counterpart = matching(other.results, result)
        marks: tuple[tuple[Apply, ...], tuple[Apply, ...]] = part_at(facts.file.tree, result.value, span), ()
        inside = {id(each) for each in subexpressions(result.value)}
        if not any(id(mark) in inside for mark in marks[0]) and not isinstance(result.value, Outside):
            continue
        values = result.value, counterpart.value if counterpart is not None else None
        outside = next((each.what for each in values if isinstance(each, Outside)), "")
        is_lost = counterpart is None and _is_lost(result, facts, fixed, other)
        problem = problem or outside
        if outside or (counterpart is None and not is_lost):
            continue
        found = True
        if values[1] is not None:
            marks = marks[0], counterparts(marks[0], part_at(fixed.file.tree, values[1], moved), values[1])
        yield Pair(
            result.value,
            values[1],
            marks,
            result.kind,
            result.is_scaled and counterpart is not None and not counterpart.is_scaled,
            *_elsewhere(reader, other, result, is_patch),
        )
    if not found:
        raise NotReplayable(problem or "what comes of the finding is not found")


def _is_lost(result: BodyResult, facts: DtypeTrace, fixed: DtypeTrace, other: Reader) -> bool:
    """Whether a body does not give back any more, or differentiate, what it did."""
    if result.kind == RETURN:
        return not any(each.kind == RETURN for each in other.results)
    texts = facts.file.source.text, fixed.file.source.text
    return result.kind == BACKWARD and texts[1].count(".backward(") < texts[0].count(".backward(")


def _elsewhere(reader: Reader, other: Reader, main: BodyResult, is_patch: bool) -> tuple[list[Differing], list[str]]:
    """What else a body comes to and differs, and the changed statements that were not read."""
    inside = {id(each) for each in subexpressions(main.value)}
    differing: list[Differing] = []
    beyond = [each.text for each in _changes(reader, other, is_patch) if not _is_read(each, reader, other)]
    known = matching(other.results, main)
    judged = (main.value, known.value) if known is not None else None
    for result in reader.results:
        if id(result.value) in inside or isinstance(result.value, (Thing, Literal)):
            continue
        counterpart = matching(other.results, result)
        if counterpart is None:
            beyond.append(result.kind)
        elif not is_same(result.value, counterpart.value, judged):  # what comes of what is judged is told by that
            differing.append(Differing(result.kind, result.value, counterpart.value))
    used = {id(each) for each in subexpressions(known.value)} if known is not None else set[int]()
    beyond += [
        each.kind for each in other.results if matching(reader.results, each) is None and id(each.value) not in used
    ]
    return differing, list(dict.fromkeys(beyond))


def _changes(reader: Reader, other: Reader, is_patch: bool) -> list[Change]:
    old, new = reader.facts.file.source.text, other.facts.file.source.text
    found = changes(old, new)
    if not is_patch:
        return found
    read = {function_at(text, row) for text, each in ((old, reader), (new, other)) for row in each.rows}
    return changes_in(found, old, new, read)


def _is_read(change: Change, reader: Reader, other: Reader) -> bool:
    """Whether a changed statement is a part of what was read: on the path, or what a name on it stands for."""
    statement, near = (change.before, reader) if change.after is None else (change.after, other)
    if isinstance(statement, (ast.If, ast.While)):
        return False  # the condition is not read, also where a body that is stands in its row
    if statement is None or isinstance(statement, (ast.Import, ast.ImportFrom)):
        return change.after is not None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = {getattr(each, "id", getattr(each, "attr", "")) for each in targets}
    return statement is not None and statement.lineno in near.rows or bool(names & near.names)


def _furthest_first(results: Sequence[BodyResult]) -> list[BodyResult]:
    rank = {BACKWARD: 0, RETURN: 1}
    order = sorted(range(len(results)), key=lambda place: (rank.get(results[place].kind, 2), -place))
    return [results[place] for place in order]
