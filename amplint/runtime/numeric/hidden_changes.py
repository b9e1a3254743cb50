"""Changes that the operands of a sweep hide: of an epsilon too small to show, and casts to half of what is taken for half anyway.

An epsilon is told apart from others by what comes of both texts where every such number is of the size of the operands. A value
that is in half for all that is known, but not surely, is given in float32: there a cast to half loses digits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from amplint.dtypes.values import DType
from amplint.model.torch import precision
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.numeric.answer import Comparison, Inquiry, TextSide, answer
from amplint.runtime.numeric.compute import CompiledExpression, Way, floating
from amplint.runtime.numeric.expression import (
    Apply,
    Container,
    Expression,
    Literal,
    Operand,
    short_name,
    subexpressions,
)
from amplint.runtime.numeric.meaning import COARSER, EVERYDAY, SAME, kept_out_of_half, traced
from amplint.runtime.numeric.same_operands import on_operands_of
from amplint.runtime.numeric.sweep import SamplePoint, Sweep
from amplint.runtime.numeric.tally import EXACTLY, HALF_MAX

_SMALL = 1e-3
"""The largest number that may go unnoticed next to everyday magnitudes."""
_DIGITS = 2.0**-20
"""An error of a value that float32 makes in a few operations, and half does not keep below."""
_TRIES = 3
"""How many random values are tried; those of a sweep are mostly round numbers, which half holds."""
_ADDED = frozenset("add sub iadd isub add_ sub_ subtract".split())
_HALVES = tuple(map(DType, sorted(precision.HALF)))
_TOLD = precision.HALF | {precision.FLOAT32}
"""The precisions of regions that the file tells."""


def epsilons_kept(compared: Comparison, sweep: Sweep) -> Iterator[Observation]:
    """Whether an expression still means the same where its small numbers are of the size of its operands.

    Nothing is said where small numbers have come, have gone, or are used in another way, which a repair may do; nor where one
    is used in half, which needs a number that half holds.

    Args:
        compared: the texts, and what is asked of them.
        sweep: the operands.
    """
    mine, theirs = (_small_numbers(each) for each in (compared.before, compared.after))
    if not mine or mine == theirs or _uses(mine) != _uses(theirs) or _is_small_in_half(compared, sweep.ordinary()):
        return
    near = replace(compared, before=_in_reach(compared.before), after=_in_reach(compared.after))
    for point in _everyday(sweep):
        before, after = (answer(side, point, near.inquiry, EXACTLY) for side in (near.before, near.after))
        if before.finite:
            is_same = after.distance(before, near.inquiry.dtypes, HALF_MAX) <= SAME[True]
            yield Observation(Question.MEANT, "the value where an epsilon is in reach", True, is_same, point.place)


def digits_kept(compared: Comparison, own: Expression | None, sweep: Sweep, seed: int) -> Iterator[Observation]:
    """Whether a repair that casts to half leaves the digits of what may be in float32, as far as autocast does.

    Args:
        compared: the texts, and what is asked of them.
        own: the expression with the fix of the rule, the digits of which count; None for the text as it stands.
        sweep: the operands.
        seed: of their elements.
    """
    owners = compared.before.operands
    unsure = [each.dtype in precision.ANY_HALF and not each.sure for each in owners]
    if not any(unsure) or len(_casts_to_half(compared.after)) <= len(_casts_to_half(compared.before)):
        return
    known = compared.before if own is None else on_operands_of(compared.before, own)
    if known is None:
        return
    wide = precision.FLOAT32
    before, after, known = (_retyped(side, unsure, wide) for side in (compared.before, compared.after, known))
    new = dict(zip(owners, before.operands))
    kinds, bounds = (
        {new[each]: sweep.kinds[each] for each in owners},
        {new[each]: sweep.bounds[each] for each in owners},
    )
    inquiry = Inquiry(before.operands, [False] * len(owners))
    names = ", ".join(f"`{each.text}`" for each, is_unsure in zip(owners, unsure) if is_unsure)
    points = [Sweep(kinds, bounds, sweep.layout, seed + each).ordinary() for each in range(_TRIES)]
    told = ((point, answer(before, point, inquiry, EXACTLY)) for point in points)
    ways = Way(compared.device)
    offs = [
        [answer(side, point, inquiry, ways).distance(exact, ()) for side in (known, after)]
        for point, exact in told
        if exact.finite
    ]
    is_fine = all(repaired <= max(meant * COARSER, _DIGITS) for meant, repaired in offs)
    yield Observation(Question.LOST, f"the precision of the value where {names} is in float32", True, is_fine)


def half_where_unknown(compared: Comparison, own: TextSide | None, point: SamplePoint) -> list[str]:
    """What says that a repair computes its result in half if what comes from outside is in half, unlike the fix of the rule.

    Args:
        compared: the texts, and what is asked of them.
        own: the text with the fix of the rule; None where that is what is judged.
        point: operands with which the expressions can be computed.
    """
    unknown = [each.dtype == precision.UNKNOWN and not each.setting for each in compared.before.operands]
    if own is None or not any(unknown):
        return []
    sides = (compared.before, compared.after, own)
    before, after, known = (_retyped(side, unknown, precision.FLOAT16) for side in sides)
    found = kept_out_of_half(replace(compared, before=before, after=after), known, point)
    return [f"{one.what}, if what comes from outside is in half" for one in found if one.is_spoiled]


def casts_in_the_unknown(side: TextSide) -> list[Apply]:
    """The casts to a half precision in regions of which only a run tells the precision.

    Args:
        side: the text, as an expression.
    """
    casts = _casts_to_half(side)
    return [each for each in casts if each.region is not None and each.region.dtype not in _TOLD]


def _casts_to_half(side: TextSide) -> list[Apply]:
    casts = [each for each in side.program.steps if isinstance(each, Apply) and each.op == "cast.to"]
    return [each for each in casts if any(isinstance(one, Literal) and one.value in _HALVES for one in each.arguments)]


def _everyday(sweep: Sweep) -> Iterator[SamplePoint]:
    yield sweep.ordinary()
    yield from (each for each in sweep.points() if each.even and EVERYDAY[0] <= abs(each.at) <= EVERYDAY[1])


def _is_small(expression: Expression) -> bool:
    value = expression.value if isinstance(expression, Literal) else None
    return isinstance(value, float) and 0 < abs(value) <= _SMALL


def _users(side: TextSide) -> Iterator[tuple[Apply, float]]:
    """The operations on small numbers, with these."""
    for step in side.program.steps:
        if isinstance(step, Apply):
            for each in (*step.arguments, *(value for _, value in step.keywords)):
                if isinstance(each, Literal) and isinstance(each.value, float) and _is_small(each):
                    yield step, each.value


def _small_numbers(side: TextSide) -> Counter[tuple[str, float]]:
    return Counter((short_name(step.op), value) for step, value in _users(side))


def _uses(numbers: Counter[tuple[str, float]]) -> Counter[str]:
    """How often small numbers are added or subtracted, and given to each other operation."""
    found = Counter[str]()
    for (name, _), count in numbers.items():
        found["add" if name in _ADDED else name] += count
    return found


def _is_small_in_half(compared: Comparison, point: SamplePoint) -> bool:
    """Whether an operation on a small number gives something in half with the fix, or cannot be computed."""
    values = traced(compared.after, compared, point, Way(compared.device))
    results = [floating(values.get(id(step))) for step, _ in _users(compared.after)]
    return not values or any(one.dtype in (torch.float16, torch.bfloat16) for each in results for one in each)


def _in_reach(side: TextSide) -> TextSide:
    """A text with numbers between 0 and 1 for its small ones, in their order."""

    def larger(leaf: Expression) -> Expression:
        if isinstance(leaf, Literal) and isinstance(leaf.value, float) and _is_small(leaf):
            return Literal(math.copysign(max(1 + math.log10(abs(leaf.value)) / 20, 0.05), leaf.value))
        return leaf

    return TextSide(CompiledExpression(_with_leaves(side.program.root, larger)), side.operands)


def _retyped(side: TextSide, chosen: Sequence[bool], dtype: str) -> TextSide:
    """A text with some operands in another precision."""
    other = {each: replace(each, dtype=dtype) for each, is_chosen in zip(side.operands, chosen) if is_chosen}

    def known(leaf: Expression) -> Expression:
        return other.get(leaf, leaf) if isinstance(leaf, Operand) else leaf

    root = _with_leaves(side.program.root, known)
    return TextSide(CompiledExpression(root), [other.get(each, each) for each in side.operands])


def _with_leaves(root: Expression, leaf: Callable[[Expression], Expression]) -> Expression:
    """An expression with something else for what is not computed in it."""
    done: dict[int, Expression] = {}
    for each in subexpressions(root):
        if isinstance(each, Apply):
            arguments = tuple(done[id(one)] for one in each.arguments)
            keywords = tuple((key, done[id(one)]) for key, one in each.keywords)
            done[id(each)] = replace(each, arguments=arguments, keywords=keywords)
        elif isinstance(each, Container):
            done[id(each)] = replace(each, items=tuple(done[id(one)] for one in each.items))
        else:
            done[id(each)] = leaf(each)
    return done[id(root)]
