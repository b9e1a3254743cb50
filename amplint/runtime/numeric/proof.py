"""Comparing an expression, as it stands and with the fix, with what exact arithmetic makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from amplint.runtime.devices import CUDA
from amplint.runtime.numeric.compute import Program, Way
from amplint.runtime.numeric.expression import Operand
from amplint.runtime.numeric.sweep import Point, dtype_of

TORCH_ERRORS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError, AssertionError)


@dataclass(frozen=True)
class Answer:
    """What an expression came to at a point: its elements, and its gradients by operand, in float64; or torch's error."""

    value: torch.Tensor
    gradients: tuple[torch.Tensor, ...]
    error: str = ""

    @property
    def finite(self) -> bool:
        """Whether every number is finite, and nothing was raised."""
        return (
            not self.error
            and bool(self.value.isfinite().all())
            and all(bool(g.isfinite().all()) for g in self.gradients)
        )

    def distance(self, right: Answer, dtypes: Sequence[torch.dtype]) -> float:
        """The larger of the errors of value and gradients, each relative to its size; `dtypes` are those of the gradients.

        What is too small for the full precision of its dtype is left out.
        """
        errors = [_relative(self.value, right.value, torch.float32)]
        errors += (_relative(*each) for each in zip(self.gradients, right.gradients, dtypes))
        return max(errors)


def _relative(mine: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype) -> float:
    size, off = float(exact.norm()), float((mine - exact).norm())
    return off / size if size >= torch.finfo(dtype).tiny else 0.0


@dataclass(frozen=True)
class Side:
    """The expression in one text, with its operands in the order of the other text's."""

    program: Program
    operands: Sequence[Operand]


@dataclass(frozen=True)
class Question:
    """What is asked at every point.

    Attributes:
        owners: the operands in the text as it stands, by which points name their values.
        wanted: for each, whether a gradient is asked of it.
        scale: the factor of the loss, as a `GradScaler` applies it, in the gradients.
    """

    owners: Sequence[Operand]
    wanted: Sequence[bool]
    scale: float = 1.0

    @property
    def dtypes(self) -> list[torch.dtype]:
        """The dtypes of the gradients."""
        return [dtype_of(owner) for owner, is_wanted in zip(self.owners, self.wanted) if is_wanted]


def answer(side: Side, point: Point, question: Question, way: Way) -> Answer:
    """Compute an expression and its gradients at a point."""
    values: dict[Operand, object] = {}
    leaves: list[torch.Tensor] = []
    for owner, operand, is_wanted in zip(question.owners, side.operands, question.wanted):
        value = point.values[owner]
        if isinstance(value, torch.Tensor):
            if value.is_floating_point():
                value = value.to(way.precision or dtype_of(operand))
            value = value.to("cuda") if way.device == CUDA else value.clone()
            if is_wanted:
                leaves.append(value.requires_grad_())
        values[operand] = value
    try:
        results = side.program.run(values, way)
        if not results:
            return Answer(torch.empty(0), (), "nothing is computed")
        return _answered(results, leaves, question.scale)
    except TORCH_ERRORS as error:
        return Answer(torch.empty(0), (), f"{type(error).__name__}: {' '.join(str(error).split())}")


def _answered(results: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor], scale: float) -> Answer:
    total = scale * sum((_weighted(result) for result in results), torch.zeros((), dtype=torch.float64))
    gradients: tuple[torch.Tensor | None, ...] = (None,) * len(leaves)
    if leaves and total.requires_grad:
        gradients = torch.autograd.grad(total, list(leaves), allow_unused=True)
    value = torch.cat([result.detach().double().reshape(-1).cpu() for result in results])
    filled = (torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip(leaves, gradients))
    return Answer(value, tuple(grad.detach().double().cpu() for grad in filled))


def _weighted(result: torch.Tensor) -> torch.Tensor:
    """The sum of the elements, each with a weight of its own around 1: a softmax sums to 1 whatever goes into it."""
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64) if result.numel() > 1 else torch.ones(1)
    return (result.double().reshape(-1).cpu() * weights.double()).sum()


@dataclass(frozen=True)
class Tally:
    """What a sweep came to.

    Attributes:
        points: at how many points exact arithmetic gives what the dtypes of operands and loss can hold.
        beyond: at how many of those plain float32, without AMP, cannot compute the fixed expression either.
        before, after: at how many of the others the expression is not finite, as it stands and with the fix.
        spoiled: at how many points of all it is not finite with the fix only.
        errors: the worst relative error of value or gradient where they are finite: before, after, in plain float32.
        raised: what torch raises before and after; empty for nothing.
        swept, curve: for the plot, an operand, and by its magnitude: before, after, exact.
    """

    points: int
    beyond: int
    before: int
    after: int
    spoiled: int
    errors: tuple[float, float, float]
    raised: tuple[str, str]
    swept: str
    curve: Mapping[float, tuple[float, float, float]]


class _Told(NamedTuple):
    """The answers at a point: before and after under AMP, after in plain float32, and before in float64."""

    point: Point
    before: Answer
    after: Answer
    plain: Answer
    exact: Answer


def tally(
    before: Side, after: Side, question: Question, points: Iterable[Point], device: str,
    aside: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset()),
) -> Tally:  # fmt: skip
    """Compute both texts at all points, and compare with the text as it stands in float64.

    `aside` are the ids of the operations of each that are not to be judged: they are computed exactly, and held fixed.
    """
    told: list[_Told] = []
    for point in points:
        exact = answer(before, point, question, Way(precision=torch.float64, aside=aside[0]))
        if exact.finite and _representable(exact, question.dtypes):
            one, other = (
                answer(side, point, question, Way(device, aside=apart)) for side, apart in zip((before, after), aside)
            )
            plain = answer(after, point, question, Way(precision=torch.float32, aside=aside[1]))
            told.append(_Told(point, one, other, plain, exact))
    held = [each for each in told if each.plain.finite]
    swept, curve = _curve(told)
    return Tally(
        points=len(told),
        beyond=sum(not each.plain.finite and not (each.before.finite and each.after.finite) for each in told),
        before=sum(not each.before.finite for each in held),
        after=sum(not each.after.finite for each in held),
        spoiled=sum(each.before.finite and not each.after.finite for each in told),
        errors=(
            _worst(((each.before, each.exact) for each in held), question.dtypes),
            _worst(((each.after, each.exact) for each in held), question.dtypes),
            _worst(((each.plain, each.exact) for each in held), question.dtypes),
        ),
        raised=(_first_error(each.before for each in told), _first_error(each.after for each in told)),
        swept=swept,
        curve=curve,
    )


def _worst(pairs: Iterable[tuple[Answer, Answer]], dtypes: Sequence[torch.dtype]) -> float:
    return max((mine.distance(exact, dtypes) for mine, exact in pairs if mine.finite), default=0.0)


def _first_error(answers: Iterable[Answer]) -> str:
    return next((each.error for each in answers if each.error), "")


def _representable(exact: Answer, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether the value fits float32, and each gradient the dtype of its operand, which is that of its gradient."""
    fits = bool(exact.value.float().isfinite().all())
    return fits and all(bool(grad.to(dtype).isfinite().all()) for grad, dtype in zip(exact.gradients, dtypes))


def _curve(told: Sequence[_Told]) -> tuple[str, Mapping[float, tuple[float, float, float]]]:
    """For the operand whose even points tell most, the size of what went wrong there: of the value, or of the gradient."""
    bad: dict[Operand, list[_Told]] = {}
    for each in told:
        if each.point.even and each.point.swept is not None:
            bad.setdefault(each.point.swept, []).append(each)
    if not bad:
        return "", {}
    operand = max(bad, key=lambda one: sum(not each.before.finite for each in bad[one]))
    by_value = any(not each.before.error and not bool(each.before.value.isfinite().all()) for each in bad[operand])
    curve = {
        each.point.at: (_size(each.before, by_value), _size(each.after, by_value), _size(each.exact, by_value))
        for each in bad[operand]
    }
    return operand.text, dict(sorted(curve.items()))


def _size(answer: Answer, by_value: bool) -> float:
    if answer.error:
        return math.nan
    parts = [answer.value] if by_value else list(answer.gradients)
    return float(torch.cat([part.reshape(-1) for part in parts]).norm()) if parts else 0.0
