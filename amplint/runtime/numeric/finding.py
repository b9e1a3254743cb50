"""Where a finding is: the body in which it and its fix stand, and what of that body it is a part of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst

from amplint.diagnostics import Diagnostic, Edit
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import Tensor
from amplint.model.torch import precision
from amplint.runtime.changes import Change, changes, changes_in, edits_between, function_at
from amplint.runtime.numeric.choices import Path
from amplint.runtime.numeric.expression import (
    Apply,
    Expression,
    Literal,
    Outside,
    Thing,
    dependents,
    is_same,
    subexpressions,
)
from amplint.runtime.numeric.facts import DtypeTrace, SeenValue
from amplint.runtime.numeric.reader import BACKWARD, RETURN, BodyResult, Reader, matching
from amplint.runtime.training.run_record import NotReplayable
from amplint.syntax.tree import Tree


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
    node, inner = _place(facts, span)
    frame = _holding(facts, inner, edits)
    path = Path(node)
    reader = Reader(facts, path)
    reader.read_body(frame)
    other = Reader(fixed, Path(None, path.taken, is_settled=True))
    other.read_body(same_body(facts, fixed, frame))
    moved = _moved(span, edits)
    problem = ""
    found = False
    for result in _furthest_first(reader.results):
        counterpart = matching(other.results, result)
        marks: tuple[tuple[Apply, ...], tuple[Apply, ...]] = _marks(facts.file.tree, result.value, span), ()
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
            marks = marks[0], _counterparts(marks[0], _marks(fixed.file.tree, values[1], moved), values[1])
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
    for result in reader.results:
        if id(result.value) in inside or isinstance(result.value, (Thing, Literal)):
            continue
        counterpart = matching(other.results, result)
        if counterpart is None:
            beyond.append(result.kind)
        elif not is_same(result.value, counterpart.value):
            differing.append(Differing(result.kind, result.value, counterpart.value))
    known = matching(other.results, main)
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
    if statement is None or isinstance(statement, (ast.Import, ast.ImportFrom)):
        return change.after is not None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = {getattr(each, "id", getattr(each, "attr", "")) for each in targets}
    return statement is not None and statement.lineno in near.rows or bool(names & near.names)


def _furthest_first(results: Sequence[BodyResult]) -> list[BodyResult]:
    rank = {BACKWARD: 0, RETURN: 1}
    order = sorted(range(len(results)), key=lambda place: (rank.get(results[place].kind, 2), -place))
    return [results[place] for place in order]


# -- the body ----------------------------------------------------------------------------------------------------------


def _place(facts: DtypeTrace, span: tuple[int, int]) -> tuple[cst.CSTNode, StackFrame]:
    """The smallest expression around a finding, in the frame in which most of it, and of the frame, is half, and most
    is known of the parameters."""
    best: tuple[tuple[int, ...], cst.CSTNode, StackFrame] | None = None
    spans = {id(node): facts.file.tree.span(node) for frame in facts.frames for node, _ in facts.nodes(frame)}
    for number, frame in enumerate(facts.frames):
        nodes = [node for node, _ in facts.nodes(frame)]
        covering = [node for node in nodes if _covers(spans[id(node)], span)]
        inside = [node for node in nodes if _covers(span, spans[id(node)])]  # of a statement, say
        if not (covering or inside):
            continue
        sizes = {id(each): spans[id(each)][1] - spans[id(each)][0] for each in nodes}
        node = (
            min(covering, key=lambda each: sizes[id(each)])
            if covering
            else max(inside, key=lambda each: sizes[id(each)])
        )
        own = spans[id(node)]
        halves = [spans[id(each)] for each, seen in facts.nodes(frame) if _is_half(seen)]
        inside_it = sum(_covers(own, each) for each in halves)
        key = -abs(own[1] - own[0] - span[1] + span[0]), inside_it, len(halves), facts.known(frame), -number
        if best is None or key > best[0]:
            best = key, node, frame
    if best is None:
        raise NotReplayable("the expression that the finding is about is not found again")
    return best[1], best[2]


def _is_half(seen: SeenValue) -> bool:
    return isinstance(seen.value, Tensor) and seen.value.dtype in precision.ANY_HALF


def _covers(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _holding(facts: DtypeTrace, frame: StackFrame, edits: Iterable[Edit]) -> StackFrame:
    """The innermost of a frame and those that it was entered from whose body holds the edits (imports aside)."""
    chain = [frame]
    while chain[-1] in facts.callers:
        chain.append(facts.callers[chain[-1]].frame)
    bodies = [each for each in chain if isinstance(each.scope, (cst.FunctionDef, cst.Lambda))] or chain
    spans = [facts.file.tree.span(each.scope) for each in bodies]
    inside = [sum(_covers(span, (edit.start, edit.end)) for edit in edits) for span in spans]
    return bodies[inside.index(max(inside))]


def same_body(facts: DtypeTrace, fixed: DtypeTrace, frame: StackFrame) -> StackFrame:
    """The same body in the text with the fix, entered in the same way.

    Args:
        facts: what the dtype flow knows of the file as it stands.
        fixed: what it knows of the file with the fix.
        frame: the body in the former.

    Raises:
        NotReplayable: it is not found again.
    """
    number = _number(facts.file.tree, frame.scope)
    namesakes = [each for each in facts.frames if each.scope is frame.scope]
    there = [each for each in fixed.frames if _number(fixed.file.tree, each.scope) == number]
    there = [each for each in there if type(each.scope) is type(frame.scope)]
    if not there:
        raise NotReplayable("with the fix, the function is not found again")
    return there[min(namesakes.index(frame), len(there) - 1)]


def _number(tree: Tree, scope: cst.CSTNode) -> int:
    return next((number for number, each in enumerate(tree.find(type(scope))) if each is scope), -1)


# -- the finding's own part --------------------------------------------------------------------------------------------


def _moved(span: tuple[int, int], edits: Iterable[Edit]) -> tuple[int, int]:
    """Where a span is after edits, with what they put in at its ends."""
    start, end = span
    for edit in edits:
        longer = len(edit.replacement) - (edit.end - edit.start)
        if edit.end < span[0] or (edit.end == span[0] and edit.start < edit.end):
            start += longer
        if edit.start <= span[1]:
            end += longer
    return start, end


def _marks(tree: Tree, root: Expression, span: tuple[int, int]) -> tuple[Apply, ...]:
    """The operations of an expression that a span is about: those in it, or the smallest around it."""
    applied = [(tree.span(each.node), each) for each in subexpressions(root) if isinstance(each, Apply)]
    inside = [(own, each) for own, each in applied if _covers(span, own)]
    if inside:
        widest = max(own[1] - own[0] for own, _ in inside)
        return tuple(each for own, each in inside if own[1] - own[0] == widest)
    around = [(own, each) for own, each in applied if _covers(own, span)]
    smallest = min((own[1] - own[0] for own, _ in around), default=0)
    return tuple(each for own, each in around if own[1] - own[0] == smallest)


def _counterparts(marks: Sequence[Apply], there: Sequence[Apply], root: Expression) -> tuple[Apply, ...]:
    """The finding's own operations in the text with the fix: those in its place, or others that do what none of these does.

    Args:
        marks: the finding's own operations in the text as it stands.
        there: the operations in their place in the text with the fix.
        root: the expression in the latter.
    """
    names = {each.op for each in marks}
    alike = tuple(each for each in subexpressions(root) if isinstance(each, Apply) and each.op in names)
    is_there = any(each.op in names for each in there)
    return tuple(there) if is_there or len(alike) != len(marks) else alike


def above(marks: Iterable[Apply]) -> set[int]:
    """The ids of all that a finding's own part is computed from, itself included."""
    return {id(each) for mark in marks for each in subexpressions(mark)}


def aside(root: Expression, marks: Iterable[Apply]) -> frozenset[int]:
    """The ids of the operations of an expression that have no part in a finding: neither what it is computed from nor what
    is computed from it.

    Args:
        root: the expression.
        marks: the operations that the finding is about.
    """
    marks = tuple(marks)
    concerned = above(marks) | dependents(root, marks)
    return frozenset(id(each) for each in subexpressions(root) if isinstance(each, Apply) and id(each) not in concerned)
