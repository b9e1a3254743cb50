"""Answers: what an expression comes to at a point, value and gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import torch

from amplint.runtime.devices import CUDA
from amplint.runtime.numeric.compute import CompiledExpression, Way
from amplint.runtime.numeric.expression import Operand
from amplint.runtime.numeric.sweep import SamplePoint, dtype_of

TORCH_ERRORS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, AssertionError)
"""What torch raises on a misuse; a `KeyError` would be amplint's own."""


@dataclass(frozen=True)
class Evaluation:
    """What an expression came to at a point: its elements, and its gradients by operand, in float64; or torch's error."""

    value: torch.Tensor
    gradients: tuple[torch.Tensor, ...]
    error: str = ""

    @cached_property
    def finite(self) -> bool:
        """Whether every number is finite, and nothing was raised."""
        return self.sound and all(bool(gradient.isfinite().all()) for gradient in self.gradients)

    @cached_property
    def sound(self) -> bool:
        """Whether the value is finite, whatever the gradients are."""
        return not self.error and bool(self.value.isfinite().all())

    def distance(self, right: Evaluation, dtypes: Sequence[torch.dtype], largest: float = math.inf) -> float:
        """The larger of the errors of value and gradients, each relative to its size; infinite after an error.

        What is too small for the full precision of its dtype is left out.

        Args:
            right: what is taken for right.
            dtypes: those of the gradients.
            largest: elements that are right beyond this size are left out.
        """
        return max(self.distances(right, dtypes, largest))

    def distances(
        self, right: Evaluation, dtypes: Sequence[torch.dtype], largest: float = math.inf
    ) -> tuple[float, float]:
        """The error of the value, and the largest of the gradients; see `distance`.

        Args:
            right: what is taken for right.
            dtypes: those of the gradients.
            largest: elements that are right beyond this size are left out.
        """
        if self.error:
            return math.inf, math.inf
        gradients = (_relative(*each, largest) for each in zip(self.gradients, right.gradients, dtypes))
        return _relative(self.value, right.value, torch.float32, largest), max(gradients, default=0.0)


def _relative(mine: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype, largest: float) -> float:
    if mine.shape != exact.shape:
        return math.inf
    counts = exact.abs() <= largest
    size, off = (float(torch.linalg.vector_norm(each[counts])) for each in (exact, mine - exact))
    if not math.isfinite(off):
        return math.inf
    return off / size if size >= torch.finfo(dtype).tiny else 0.0


@dataclass(frozen=True)
class TextSide:
    """The expression in one text, with its operands in the order of the other text's."""

    program: CompiledExpression
    operands: Sequence[Operand]


@dataclass(frozen=True)
class Inquiry:
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


@dataclass(frozen=True)
class Comparison:
    """Two texts, what is asked of them, and the device (`amplint.runtime.devices`) under whose AMP they are computed."""

    before: TextSide
    after: TextSide
    inquiry: Inquiry
    device: str


def answer(side: TextSide, point: SamplePoint, inquiry: Inquiry, way: Way) -> Evaluation:
    """Compute an expression and its gradients at a point.

    Args:
        side: the text, as an expression.
        point: the operands.
        inquiry: what is asked of it.
        way: in which precision, and under which regions.
    """
    values, leaves = placed(side, point, inquiry, way)
    try:
        results = side.program.run(values, way)
        if not results:
            return Evaluation(torch.empty(0), (), "nothing is computed")
        return _answered(results, leaves, inquiry.scale)
    except TORCH_ERRORS as error:
        return Evaluation(torch.empty(0), (), f"{type(error).__name__}: {' '.join(str(error).split())}")


def placed(
    side: TextSide, point: SamplePoint, inquiry: Inquiry, way: Way
) -> tuple[dict[Operand, torch.Tensor | float], list[torch.Tensor]]:
    """The operands of a text at a point, and those of them that gradients are asked of.

    Args:
        side: the text, as an expression.
        point: the operands.
        inquiry: what is asked of it.
        way: in which precision, and under which regions.
    """
    values: dict[Operand, torch.Tensor | float] = {}
    leaves: list[torch.Tensor] = []
    for owner, operand, is_wanted in zip(inquiry.owners, side.operands, inquiry.wanted):
        value = point.values[owner]
        if isinstance(value, torch.Tensor):
            if value.is_floating_point():
                value = value.to(way.precision or dtype_of(operand))
            value = value.to("cuda") if way.device == CUDA else value.clone()
            if is_wanted:
                leaves.append(value.requires_grad_())
        values[operand] = value
    return values, leaves


def _answered(results: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor], scale: float) -> Evaluation:
    total = scale * whole(results)
    gradients: tuple[torch.Tensor | None, ...] = (None,) * len(leaves)
    if leaves and total.requires_grad:
        gradients = torch.autograd.grad(total, list(leaves), allow_unused=True)
    value = torch.cat([result.detach().double().reshape(-1).cpu() for result in results])
    filled = (torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip(leaves, gradients))
    return Evaluation(value, tuple(grad.detach().double().cpu() for grad in filled))


def whole(results: Iterable[torch.Tensor]) -> torch.Tensor:
    """The sum of all elements, each with a weight of its own around 1: a softmax sums to 1 whatever goes into it."""
    total = torch.zeros((), dtype=torch.float64)
    for result in results:
        elements = result.double().reshape(-1).cpu()
        total = total + (elements if len(elements) == 1 else elements * _weights(len(elements))).sum()
    return total


@cache
def _weights(count: int) -> torch.Tensor:
    return torch.linspace(0.5, 1.5, count, dtype=torch.float64)
