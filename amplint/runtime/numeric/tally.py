"""Comparing an expression, as it stands and with the fix, with what exact arithmetic makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from amplint.runtime.criterion import Observation, Question
from amplint.runtime.numeric.answer import Comparison, Evaluation, Inquiry, TextSide, answer, placed, whole
from amplint.runtime.numeric.compute import Way, floating
from amplint.runtime.numeric.expression import Apply, Expression, Operand, parts
from amplint.runtime.numeric.sweep import SamplePoint

EXACTLY = Way(precision=torch.float64)
HALF_MAX = torch.finfo(torch.float16).max
"""Elements that are larger in exact arithmetic are not compared."""
UPSTREAM, BEHIND, NARROW = "overflow before it", "overflow behind it", "gradient beyond half"
"""Why a point is not judged, with the fix: the operands of the finding's own operation overflow already; or another operation,
which is there before as well, in half; only gradients are not finite, and some value that the fixed text leaves in half has an
exact gradient that its dtype cannot hold."""


class Curve(NamedTuple):
    """How value or gradient, `shown` says which, go with the magnitude of an operand: before, after, exactly."""

    swept: str
    shown: str
    sizes: Mapping[float, tuple[float, float, float]]


class PointAnswers(NamedTuple):
    """The answers at a point: before and after under AMP; after in plain float32, where that may matter; before in float64.

    `why` is one of `UPSTREAM`, `BEHIND` and `NARROW`, or empty.
    """

    point: SamplePoint
    before: Evaluation
    after: Evaluation
    plain: Evaluation | None
    exact: Evaluation
    why: str

    @property
    def is_held(self) -> bool:
        """Whether float32 without AMP can compute the fixed expression, as far as that was asked."""
        return self.plain is None or self.plain.finite


@dataclass(frozen=True)
class Tally:
    """What a sweep came to.

    Attributes:
        told: the answers, where exact arithmetic gives what the dtypes of operands and loss can hold.
        before, after: at how many points that float32 can compute the expression is not finite, as it stands and with the fix.
        left_out: at how many points something else is not finite, by what it is.
        errors: the worst relative error of value or gradient where they are finite: before, after, in plain float32.
        digits: the worst relative errors of the value alone: before, after.
        raised: what torch raises before and after; empty for nothing.
        curve: for the plot.
    """

    told: Sequence[PointAnswers]
    before: int
    after: int
    left_out: Mapping[str, int]
    errors: tuple[float, float, float]
    digits: tuple[float, float]
    raised: tuple[str, str]
    curve: Curve

    def observations(self, is_partial: bool) -> Iterator[Observation]:
        """Whether value and gradients are finite, point by point.

        Args:
            is_partial: whether gradients may be left that half cannot hold.
        """
        for each in self.told:
            before, after, place = each.before.finite, each.after.finite, each.point.place
            if each.why == NARROW and not is_partial:
                yield Observation(Question.GONE, "the finite value", each.before.sound, True, place)
                yield Observation(Question.GONE, "the finite gradient", before, False, place)
            elif each.why != NARROW and (each.is_held or (before and not after)):
                yield Observation(Question.GONE, "the finite value or gradient", before, after, place)


def tally(
    compared: Comparison, points: Iterable[SamplePoint], marks: Sequence[Apply],
    aside: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset()),
) -> Tally:  # fmt: skip
    """Compute both texts at all points, and compare with the text as it stands in float64.

    Args:
        compared: the texts, and what is asked of them.
        points: the operands.
        marks: the finding's own operations in the text with the fix.
        aside: the ids of the operations of each that are not to be judged: they are computed in float32, and held fixed.
    """
    every = [one for point in points if (one := _answers(compared, point, marks, aside)) is not None]
    told = [each for each in every if each.why not in (UPSTREAM, BEHIND)]
    held = [each for each in told if each.is_held]
    dtypes = compared.inquiry.dtypes
    before = _worst(((each.before, each.exact) for each in held), dtypes)
    after = _worst(((each.after, each.exact) for each in held), dtypes)
    plain = _worst(((each.plain, each.exact) for each in held if each.plain is not None), dtypes)
    unheld = (each for each in told if not (each.is_held or (each.before.finite and each.after.finite)))
    return Tally(
        told=told,
        before=sum(not each.before.finite for each in held),
        after=sum(not each.after.finite for each in held),
        left_out={
            "beyond float32": sum(1 for _ in unheld),
            **{why: sum(each.why == why for each in every) for why in (UPSTREAM, BEHIND, NARROW)},
        },
        errors=(max(before), max(after), max(plain)),
        digits=(before[0], after[0]),
        raised=(_first_error(each.before for each in told), _first_error(each.after for each in told)),
        curve=_curve(told),
    )


def _answers(
    compared: Comparison, point: SamplePoint, marks: Sequence[Apply], aside: tuple[frozenset[int], frozenset[int]]
) -> PointAnswers | None:
    """The answers at a point; None where exact arithmetic gives nothing that the dtypes can hold."""
    before, after, inquiry, device = compared.before, compared.after, compared.inquiry, compared.device
    exact = answer(before, point, inquiry, Way(precision=torch.float64, aside=aside[0]))
    if not (exact.finite and _representable(exact, inquiry.dtypes)):
        return None
    under_amp = Way(device, aside=aside[1])
    one, other = answer(before, point, inquiry, Way(device, aside=aside[0])), answer(after, point, inquiry, under_amp)
    plain, why = None, ""
    if point.even or not (one.finite and other.finite):
        plain = answer(after, point, inquiry, Way(precision=torch.float32, aside=aside[1]))
    if plain is not None and plain.finite and not other.finite and not other.error:
        overflow = _overflow(compared, marks, point, under_amp)
        why = overflow or (NARROW if other.sound and _is_narrow(after, point, inquiry, under_amp) else "")
    return PointAnswers(point, one, other, plain, exact, why)


def _overflow(compared: Comparison, marks: Sequence[Apply], point: SamplePoint, way: Way) -> str:
    """Where something else than the finding's own operations overflows, with the fix: `UPSTREAM`, `BEHIND` or nowhere."""
    program = compared.after.program
    with torch.no_grad():
        mine, exact = (
            program.trace(placed(compared.after, point, compared.inquiry, one)[0], one)
            for one in (way, Way(precision=torch.float64, aside=way.aside))
        )

    def is_lost(place: Expression) -> bool:
        return any(
            bool((right.isfinite() & ~own.cpu().isfinite()).any())
            for own, right in zip(floating(mine.get(id(place))), floating(exact.get(id(place))))
        )

    if any(is_lost(part) for mark in marks for part in parts(mark)):
        return UPSTREAM
    first = next((step for step in program.steps if isinstance(step, Apply) and is_lost(step)), None)
    if first is None or first in marks:
        return ""
    is_old = any(isinstance(each, Apply) and each.op == first.op for each in compared.before.program.steps)
    sizes = (each.abs() for place in (first, *parts(first)) for each in floating(exact.get(id(place))))
    return BEHIND if is_old and any(bool((each > HALF_MAX / 2).any()) for each in sizes) else ""


def _is_narrow(side: TextSide, point: SamplePoint, inquiry: Inquiry, way: Way) -> bool:
    """Whether a value that is in half has an exact gradient that half cannot hold."""
    with torch.no_grad():
        mine = side.program.trace(placed(side, point, inquiry, way)[0], way)
    exact = side.program.trace(
        placed(side, point, inquiry, Way(precision=torch.float64))[0], Way(precision=torch.float64, aside=way.aside)
    )
    total = inquiry.scale * whole(floating(exact[id(side.program.root)]))
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


def _worst(pairs: Iterable[tuple[Evaluation, Evaluation]], dtypes: Sequence[torch.dtype]) -> tuple[float, float]:
    """The worst errors of the value and of the gradients, among the answers that are finite."""
    errors = [mine.distances(exact, dtypes) for mine, exact in pairs if mine.finite]
    return max((value for value, _ in errors), default=0.0), max((gradient for _, gradient in errors), default=0.0)


def _first_error(answers: Iterable[Evaluation]) -> str:
    return next((each.error for each in answers if each.error), "")


def _representable(exact: Evaluation, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether the value fits float32, and each gradient the dtype of its operand, which is that of its gradient."""
    fits = bool(exact.value.float().isfinite().all())
    return fits and all(bool(grad.to(dtype).isfinite().all()) for grad, dtype in zip(exact.gradients, dtypes))


def _curve(told: Sequence[PointAnswers]) -> Curve:
    """For the operand whose even points tell most, the size of what went wrong there: of the value, or of the gradient."""
    bad: dict[Operand, list[PointAnswers]] = {}
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
