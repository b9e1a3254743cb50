"""Whether an expression still means what it meant, and is still computed in half where it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from amplint.model.torch import precision
from amplint.model.torch.operators import Policy, policy
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.numeric.answer import TORCH_ERRORS, Comparison, Evaluation, TextSide, answer, placed
from amplint.runtime.numeric.compute import Way, all_tensors, floating
from amplint.runtime.numeric.expression import Apply, Expression, short_name
from amplint.runtime.numeric.sweep import SamplePoint
from amplint.runtime.numeric.tally import EXACTLY, HALF_MAX, PointAnswers
from amplint.runtime.recording.tensor_facts import dtype_name

_HALVES = frozenset({torch.float16, torch.bfloat16})
_HALF_TINY = torch.finfo(torch.float16).tiny
EVERYDAY = 2.0**-5, 3.0
"""The magnitudes at which every expression is expected to be right, whatever the precision."""
_LARGEST = 1000.0
"""Beyond this magnitude, what stands for minus infinity is in reach of what it is to be told from."""
_RIGHT = 0.05
"""The largest relative error of values and gradients with which a program counts as right."""
SAME = 2.0**-4, 2.0**-10
"""By how much two expressions may differ in exact arithmetic and mean the same: anywhere, where epsilons may be in reach, and
at everyday magnitudes, by as much as half rounds."""
COARSER = 4.0
"""How many times as much as before an expression may be off under AMP at everyday magnitudes."""
_FINE = 2.0**-10, 2.0**-8
"""Up to what error it may be so: of the value, and of gradients, which several ways may lead to, each rounded to half."""
_MENDED = 0.75
"""How far a value may be off where there was none before: nearer to what is meant than to nothing."""
_SMALL = 2.0**-6
_JUDGED = 1e-3, 87.0
"""From which magnitude to which it may not: in between neither epsilons are in reach, nor the ends of exponentials of float32."""


def meant(told: Sequence[PointAnswers], compared: Comparison) -> Iterator[Observation]:
    """Whether the fixed expression is right where the text as it stands is, and at everyday magnitudes.

    Its meaning is told in exact arithmetic, its precision under AMP. Left out is what exact arithmetic puts beyond the largest
    float16, and points at which something in half is too small for the full precision of it.

    Args:
        told: the answers at all points.
        compared: the texts, and what is asked of them.
    """
    dtypes = compared.inquiry.dtypes
    worst = [[fine / COARSER, 0.0] for fine in _FINE]
    for each in told:
        size = abs(each.point.at)
        off = each.before.distance(each.exact, dtypes, HALF_MAX)
        is_everyday = EVERYDAY[0] <= size <= EVERYDAY[1]
        was_right = off <= _RIGHT and size <= _LARGEST
        if was_right and is_everyday:
            offs = zip(*(one.distances(each.exact, dtypes, HALF_MAX) for one in (each.before, each.after)))
            worst = [[max(pair) for pair in zip(known, new)] for known, new in zip(worst, offs)]
        is_mended = not each.before.finite and each.after.finite and (not size or _JUDGED[0] <= size <= _JUDGED[1])
        if not (was_right or is_everyday or is_mended):
            continue
        exactly = answer(compared.after, each.point, compared.inquiry, EXACTLY)
        is_right = exactly.distance(each.exact, dtypes, HALF_MAX) <= SAME[is_everyday]
        if is_mended:
            is_right = _is_near(each, exactly) and (is_right or not is_everyday)
        if is_right or not (was_right or is_everyday) or not _is_faint(compared, each.point):
            yield Observation(Question.MEANT, "the value or gradient", True, is_right, each.point.place)
    is_fine = all(after <= before * COARSER for before, after in worst)
    yield Observation(Question.MEANT, "the precision under AMP", True, is_fine)


def _is_near(told: PointAnswers, exactly: Evaluation) -> bool:
    """Whether a value that was not finite has become one that is nearer to what is meant than to nothing.

    Under AMP it may be as far off as in float32 without; a value as small as what half rounds others by is not looked at there.
    """
    away = 0.0
    if float(told.exact.value.norm()) > _SMALL:
        away = min(told.after.distance(one, (), HALF_MAX) for one in (told.exact, told.plain) if one is not None)
    return max(exactly.distance(told.exact, (), HALF_MAX), away) <= _MENDED


def is_alike(compared: Comparison, point: SamplePoint) -> bool:
    """Whether two texts mean the same at a point, or neither can be computed there.

    Args:
        compared: the texts, and what is asked of them.
        point: the operands.
    """
    mine, theirs = (answer(side, point, compared.inquiry, EXACTLY) for side in (compared.before, compared.after))
    return bool(mine.error) or theirs.distance(mine, compared.inquiry.dtypes, HALF_MAX) <= SAME[True]


def is_unlike(compared: Comparison, point: SamplePoint) -> bool:
    """Whether two texts can be computed at a point, and mean something else there.

    Args:
        compared: the texts, and what is asked of them.
        point: the operands.
    """
    mine, theirs = (answer(side, point, compared.inquiry, EXACTLY) for side in (compared.before, compared.after))
    told = not (mine.error or theirs.error)
    return told and theirs.distance(mine, compared.inquiry.dtypes, HALF_MAX) > SAME[True]


def _is_faint(compared: Comparison, point: SamplePoint) -> bool:
    """Whether a value that is computed in half is smaller than what half holds with full precision, and not zero."""
    side = compared.before
    under_amp, exactly = (traced(side, compared, point, way) for way in (Way(compared.device), EXACTLY))
    return any(
        own.dtype == torch.float16 and bool(((right != 0) & (right.abs() < _HALF_TINY)).any())
        for step in side.program.steps
        if isinstance(step, Apply)
        for own, right in zip(floating(under_amp.get(id(step))), floating(exactly.get(id(step))))
    )


def traced(side: TextSide, compared: Comparison, point: SamplePoint, way: Way) -> dict[int, object]:
    """What each part of a text comes to; nothing where torch raises.

    Args:
        side: the text, as an expression.
        compared: what is asked of it.
        point: the operands.
        way: in which precision, and under which regions.
    """
    try:
        with torch.no_grad():
            return side.program.trace(placed(side, point, compared.inquiry, way)[0], way)
    except TORCH_ERRORS:
        return {}


def kept_in_half(compared: Comparison, marks: Sequence[Apply], point: SamplePoint) -> Iterator[Observation]:
    """Whether values from outside, and products, are in half where they were; a product that the finding is about need not be.

    Args:
        compared: the texts, and what is asked of them.
        marks: the operations that the finding is about, in the text as it stands.
        point: operands with which the fixed text can be computed.
    """
    before, after = compared.before, compared.after
    for mine, theirs in zip(before.operands, after.operands):
        if mine.dtype in precision.ANY_HALF and theirs in after.program.operands:
            is_half = theirs.dtype in precision.ANY_HALF
            yield Observation(Question.LOST, f"the half precision of `{mine.text}`", True, is_half)
    values = traced(after, compared, point, Way(compared.device))
    had = [short_name(step.op) for step in _products(before) if step not in marks and _is_lowered(step)]
    kept = [step for step in _products(after) if all(each.dtype in _HALVES for each in floating(values.get(id(step))))]
    if had and values:
        names = ", ".join(dict.fromkeys(had))
        yield Observation(Question.LOST, f"the half precision of {names}", True, len(kept) >= len(had))


def kept_out_of_half(compared: Comparison, own: TextSide | None, point: SamplePoint) -> Iterator[Observation]:
    """Whether a repair gives back in half what the fix of the rule does not, such as float32 or indices, and what was not before.

    Args:
        compared: the texts, and what is asked of them.
        own: the text with the fix of the rule; None where that is what is judged.
        point: operands with which the expressions can be computed.
    """
    if own is None:
        return
    before, mine, after = (_dtypes(side, compared, point) for side in (compared.before, own, compared.after))
    if len(mine) != len(after):
        return
    for was, wanted, given in zip(before or [None] * len(mine), mine, after):
        if wanted not in _HALVES and was != given:
            yield Observation(Question.LOST, f"the {dtype_name(wanted)} of the result", True, given not in _HALVES)


def is_coarser(before: Expression, after: Expression, compared: Comparison, point: SamplePoint) -> bool:
    """Whether a part is in half with the fix, and was not before; or a floating number, and was a whole one.

    Args:
        before: the part in the text as it stands.
        after: the same in that with the fix.
        compared: the texts, and what is asked of them.
        point: the operands.
    """
    sides = ((compared.before, before), (compared.after, after))
    mine, theirs = (_dtypes(side, compared, point, part) for side, part in sides)
    numbers = [traced(side, compared, point, EXACTLY).get(id(part)) for side, part in sides]  # nothing overflows there
    were_whole, are_floating = bool(all_tensors(numbers[0])) and not floating(numbers[0]), bool(floating(numbers[1]))
    return (were_whole and are_floating) or (bool(mine) and bool((set(theirs) - set(mine)) & _HALVES))


def _dtypes(
    side: TextSide, compared: Comparison, point: SamplePoint, part: Expression | None = None
) -> list[torch.dtype]:
    """The precisions of a part under AMP, or of the whole; none where torch raises."""
    values = traced(side, compared, point, Way(compared.device))
    return [each.dtype for each in all_tensors(values.get(id(part or side.program.root)))]


def _products(side: TextSide) -> Iterator[Apply]:
    for step in side.program.steps:
        if isinstance(step, Apply) and policy(short_name(step.op), "cuda") is Policy.LOWER:
            yield step


def _is_lowered(step: Apply) -> bool:
    region = step.region
    return region is not None and region.enabled != "no" and region.dtype != precision.FLOAT32
