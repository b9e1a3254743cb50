"""Where a finding is: the body in which it stands, and the part of an expression that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import Tensor
from amplint.model.torch import precision
from amplint.runtime.numeric.expression import Apply, Expression, dependents, subexpressions
from amplint.runtime.numeric.facts import DtypeTrace, SeenValue
from amplint.runtime.training.run_record import NotReplayable
from amplint.syntax.tree import Tree


def body_of(facts: DtypeTrace, span: tuple[int, int]) -> tuple[cst.CSTNode, StackFrame]:
    """The smallest expression around a finding, in the frame in which most of it, and of the frame, is half, and most
    is known of the parameters.

    Args:
        facts: what the dtype flow knows of the file.
        span: where the finding is.

    Raises:
        NotReplayable: no expression is found there.
    """
    best: tuple[tuple[int, ...], cst.CSTNode, StackFrame] | None = None
    spans = {id(node): facts.file.tree.span(node) for frame in facts.frames for node, _ in facts.nodes(frame)}
    for number, frame in enumerate(facts.frames):
        nodes = [node for node, _ in facts.nodes(frame)]
        covering = [node for node in nodes if is_around(spans[id(node)], span)]
        inside = [node for node in nodes if is_around(span, spans[id(node)])]  # of a statement, say
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
        inside_it = sum(is_around(own, each) for each in halves)
        key = -abs(own[1] - own[0] - span[1] + span[0]), inside_it, len(halves), facts.known(frame), -number
        if best is None or key > best[0]:
            best = key, node, frame
    if best is None:
        raise NotReplayable("the expression that the finding is about is not found again")
    return best[1], best[2]


def _is_half(seen: SeenValue) -> bool:
    return isinstance(seen.value, Tensor) and seen.value.dtype in precision.ANY_HALF


def is_around(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    """Whether a span holds another one.

    Args:
        outer: the one.
        inner: the other one.
    """
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def body_holding(facts: DtypeTrace, frame: StackFrame, edits: Iterable[Edit]) -> StackFrame:
    """The innermost of a frame and those that it was entered from whose body holds the edits (imports aside).

    Args:
        facts: what the dtype flow knows of the file.
        frame: the frame in which the finding is.
        edits: those of its fix.
    """
    chain = [frame]
    while chain[-1] in facts.callers:
        chain.append(facts.callers[chain[-1]].frame)
    bodies = [each for each in chain if isinstance(each.scope, (cst.FunctionDef, cst.Lambda))] or chain
    spans = [facts.file.tree.span(each.scope) for each in bodies]
    inside = [sum(is_around(span, (edit.start, edit.end)) for edit in edits) for span in spans]
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


def span_after(span: tuple[int, int], edits: Iterable[Edit]) -> tuple[int, int]:
    """Where a span is after edits, with what they put in at its ends.

    Args:
        span: where it was.
        edits: in the text as it was.
    """
    start, end = span
    for edit in edits:
        longer = len(edit.replacement) - (edit.end - edit.start)
        if edit.end < span[0] or (edit.end == span[0] and edit.start < edit.end):
            start += longer
        if edit.start <= span[1]:
            end += longer
    return start, end


def part_at(tree: Tree, root: Expression, span: tuple[int, int]) -> tuple[Apply, ...]:
    """The operations of an expression that a span is about: those in it, or the smallest around it.

    Args:
        tree: that of the file.
        root: the expression.
        span: the place.
    """
    applied = [(tree.span(each.node), each) for each in subexpressions(root) if isinstance(each, Apply)]
    inside = [(own, each) for own, each in applied if is_around(span, own)]
    if inside:
        widest = max(own[1] - own[0] for own, _ in inside)
        return tuple(each for own, each in inside if own[1] - own[0] == widest)
    around = [(own, each) for own, each in applied if is_around(own, span)]
    smallest = min((own[1] - own[0] for own, _ in around), default=0)
    return tuple(each for own, each in around if own[1] - own[0] == smallest)


def counterparts(marks: Sequence[Apply], there: Sequence[Apply], root: Expression) -> tuple[Apply, ...]:
    """The finding's own operations in the text with the fix: those in its place, or others, if these hold none of its kind.

    Args:
        marks: the finding's own operations in the text as it stands.
        there: the operations in their place in the text with the fix.
        root: the expression in the latter.
    """
    names = {each.op for each in marks}
    alike = tuple(each for each in subexpressions(root) if isinstance(each, Apply) and each.op in names)
    is_there = any(isinstance(each, Apply) and each.op in names for one in there for each in subexpressions(one))
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
