"""The steps of a traced run, as plain data: one by one, and all in numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

_UNCUT = 0.999
"""From this share of its norm on, nothing was cut from a gradient: norms are sums, and round."""


@dataclass(frozen=True)
class StepRecord:
    """One step of an optimizer, taken or skipped.

    Attributes:
        number: counts the steps of all optimizers, from 1.
        place: the line that made the step, as `file:line`.
        optimizer: its name in this trace, such as `optimizer#1`.
        taken: whether the optimizer used the gradients.
        scale: the scale of the gradient scaler before the step; None without one.
        loss: the loss that was scaled last, or propagated; None where that is no single number.
        norm: the 2-norm of the gradients that the optimizer was given.
        unclipped: the 2-norm of the gradients before they were clipped, of all that were clipped together; None without a clip.
        kept: the share of that norm that the clip has left.
        rates: the learning rates of the parameter groups.
        nonfinite: the names of parameters with inf or NaN in their gradients, where the step was skipped.
        because: what made them so, where it was seen: the place and the cause in words.
    """

    number: int
    place: str
    optimizer: str
    taken: bool
    scale: float | None = None
    loss: float | None = None
    norm: float | None = None
    unclipped: float | None = None
    kept: float | None = None
    rates: tuple[float, ...] = ()
    nonfinite: tuple[str, ...] = ()
    because: str = ""

    @property
    def is_remarkable(self) -> bool:
        """Whether it was skipped, or taken with gradients that are not finite."""
        return not self.taken or self.is_lost

    @property
    def is_lost(self) -> bool:
        """Whether the optimizer used gradients that are not finite."""
        return self.taken and self.norm is not None and not math.isfinite(self.norm)


@dataclass
class StepTotals:
    """All steps of a run in numbers.

    Attributes:
        tried: how many there were.
        skipped: how many of them the scaler left out.
        late: how many there were after the scale had time to settle.
        late_skipped: how many of these were skipped.
        clipped: how many were taken with gradients that had been clipped by a limit.
        cuts: in how many of these the limit was lower than the norm.
        lost: the first step that was taken with gradients that are not finite; 0 for none.
        lowest_scale: the lowest value that the scale has had; inf without a scaler.
    """

    tried: int = 0
    skipped: int = 0
    late: int = 0
    late_skipped: int = 0
    clipped: int = 0
    cuts: int = 0
    lost: int = 0
    lowest_scale: float = math.inf

    def add(self, step: StepRecord, is_late: bool) -> None:
        """Count one more.

        Args:
            step: the step.
            is_late: whether the scale has had time to settle.
        """
        self.tried = step.number
        self.skipped += not step.taken
        self.late += is_late
        self.late_skipped += is_late and not step.taken
        self.clipped += step.taken and step.kept is not None
        self.cuts += step.taken and step.kept is not None and step.kept < _UNCUT
        self.lost = self.lost or step.number * step.is_lost
