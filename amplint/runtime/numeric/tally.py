"""Comparing an expression, as it stands and with the fix, with what exact arithmetic makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from amplint.runtime.numeric.answer import Evaluation, Question, Side, answer, placed, whole
from amplint.runtime.numeric.compute import Way, floating
from amplint.runtime.numeric.expression import Apply, Operand, parts
from amplint.runtime.numeric.sweep import SamplePoint


class Curve(NamedTuple):
    """How value or gradient, `shown` says which, go with the magnitude of an operand: before, after, exactly."""

    swept: str
    shown: str
    sizes: Mapping[float, tuple[float, float, float]]


@dataclass(frozen=True)
class Tally:
    """What a sweep came to.

    Attributes:
        points: at how many points exact arithmetic gives what the dtypes of operands and loss can hold.
        upstream: at how many more the operands of the finding's own operation overflow already, also with the fix.
        beyond: at how many points plain float32, without AMP, cannot compute the fixed expression either.
        before, after: at how many of the others the expression is not finite, as it stands and with the fix.
        narrow: at how many of those after, only gradients are not finite, and some value that the fixed text leaves in half
            has an exact gradient that its dtype cannot hold.
        spoiled: at how many points of all it is not finite with the fix only.
        errors: the worst relative error of value or gradient where they are finite: before, after, in plain float32.
        digits: the worst relative errors of the value alone: before, after.
        raised: what torch raises before and after; empty for nothing.
        curve: for the plot.
    """

    points: int
    upstream: int
    beyond: int
    before: int
    after: int
    narrow: int
    spoiled: int
    errors: tuple[float, float, float]
    digits: tuple[float, float]
    raised: tuple[str, str]
    curve: Curve


class _Told(NamedTuple):
    """The answers at a point: before and after under AMP; after in plain float32, where that may matter; before in float64."""

    point: SamplePoint
    before: Evaluation
    after: Evaluation
    plain: Evaluation | None
    exact: Evaluation


def tally(
    before: Side, after: Side, question: Question, points: Iterable[SamplePoint], device: str,
    marks: Sequence[Apply], aside: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset()),
) -> Tally:  # fmt: skip
    """Compute both texts at all points, and compare with the text as it stands in float64.

    Args:
        before: the text as it stands.
        after: the text with the fix.
        question: what is compared.
        points: the operands.
        device: one of `amplint.runtime.devices`.
        marks: the finding's own operations in the text with the fix.
        aside: the ids of the operations of each that are not to be judged: they are computed in float32, and held fixed.
    """
    told: list[_Told] = []
    upstream = narrow = 0
    for point in points:
        exact = answer(before, point, question, Way(precision=torch.float64, aside=aside[0]))
        if exact.finite and _representable(exact, question.dtypes):
            one, other = (
                answer(side, point, question, Way(device, aside=apart)) for side, apart in zip((before, after), aside)
            )
            plain = None
            if point.even or not (one.finite and other.finite):
                plain = answer(after, point, question, Way(precision=torch.float32, aside=aside[1]))
            if plain is not None and plain.finite and not other.finite and not other.error:
                if _overflows_before(marks, after, point, question, Way(device, aside=aside[1])):
                    upstream += 1
                    continue
                narrow += other.sound and _is_narrow(after, point, question, Way(device, aside=aside[1]))
            told.append(_Told(point, one, other, plain, exact))
    held = [each for each in told if each.plain is None or each.plain.finite]
    return Tally(
        points=len(told),
        upstream=upstream,
        beyond=sum(not (each.before.finite and each.after.finite) for each in told)
        - sum(not (each.before.finite and each.after.finite) for each in held),
        before=sum(not each.before.finite for each in held),
        after=sum(not each.after.finite for each in held),
        narrow=narrow,
        spoiled=sum(each.before.finite and not each.after.finite for each in told),
        errors=(
            _worst(((each.before, each.exact) for each in held), question.dtypes),
            _worst(((each.after, each.exact) for each in held), question.dtypes),
            _worst(((each.plain, each.exact) for each in held if each.plain is not None), question.dtypes),
        ),
        digits=(_off((each.before, each.exact) for each in held), _off((each.after, each.exact) for each in held)),
        raised=(_first_error(each.before for each in told), _first_error(each.after for each in told)),
        curve=_curve(told),
    )


def _overflows_before(marks: Sequence[Apply], side: Side, point: SamplePoint, question: Question, way: Way) -> bool:
    """Whether an operand of the finding's own operations is not finite, although exact arithmetic gives a number."""
    with torch.no_grad():
        mine, exact = (
            side.program.trace(placed(side, point, question, one)[0], one)
            for one in (way, Way(precision=torch.float64, aside=way.aside))
        )
    operands = [id(part) for mark in marks for part in parts(mark)]
    return any(
        bool((right.isfinite() & ~own.cpu().isfinite()).any())
        for place in operands
        for own, right in zip(floating(mine.get(place)), floating(exact.get(place)))
    )


def _is_narrow(side: Side, point: SamplePoint, question: Question, way: Way) -> bool:
    """Whether a value that is in half has an exact gradient that half cannot hold."""
    with torch.no_grad():
        mine = side.program.trace(placed(side, point, question, way)[0], way)
    exact = side.program.trace(
        placed(side, point, question, Way(precision=torch.float64))[0], Way(precision=torch.float64, aside=way.aside)
    )
    total = question.scale * whole(floating(exact[id(side.program.root)]))
    pairs = [
        (own.dtype, right)
        for place in mine
        for own, right in zip(floating(mine[place]), floating(exact[place]))
        if own.dtype in (torch.float16, torch.bfloat16) and right.requires_grad
    ]
    if not (pairs and total.requires_grad):
        return False
    gradients = torch.autograd.grad(total, [right for _, right in pairs], allow_unused=True)
    return any(
        grad is not None and not bool(grad.to(dtype).isfinite().all()) for (dtype, _), grad in zip(pairs, gradients)
    )


def _worst(pairs: Iterable[tuple[Evaluation, Evaluation]], dtypes: Sequence[torch.dtype]) -> float:
    return max((mine.distance(exact, dtypes) for mine, exact in pairs if mine.finite), default=0.0)


def _off(pairs: Iterable[tuple[Evaluation, Evaluation]]) -> float:
    return max((mine.distance(exact, ()) for mine, exact in pairs if mine.finite), default=0.0)


def _first_error(answers: Iterable[Evaluation]) -> str:
    return next((each.error for each in answers if each.error), "")


def _representable(exact: Evaluation, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether the value fits float32, and each gradient the dtype of its operand, which is that of its gradient."""
    fits = bool(exact.value.float().isfinite().all())
    return fits and all(bool(grad.to(dtype).isfinite().all()) for grad, dtype in zip(exact.gradients, dtypes))


def _curve(told: Sequence[_Told]) -> Curve:
    """For the operand whose even points tell most, the size of what went wrong there: of the value, or of the gradient."""
    bad: dict[Operand, list[_Told]] = {}
    for each in told:
        if each.point.even and each.point.swept is not None:
            bad.setdefault(each.point.swept, []).append(each)
    if not bad:
        return Curve("", "", {})
    operand = max(bad, key=lambda one: sum(not each.before.finite for each in bad[one]))
    by_value = any(not each.before.error and not bool(each.before.value.isfinite().all()) for each in bad[operand])
    sizes = {
        each.point.at: (_size(each.before, by_value), _size(each.after, by_value), _size(each.exact, by_value))
        for each in bad[operand]
    }
    return Curve(operand.text, "size of the value" if by_value else "norm of the gradient", dict(sorted(sizes.items())))


def _size(answer: Evaluation, by_value: bool) -> float:
    if answer.error:
        return math.nan
    parts = [answer.value] if by_value else list(answer.gradients)
    return float(torch.cat([part.reshape(-1) for part in parts]).norm()) if parts else 0.0
