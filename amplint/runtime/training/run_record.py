"""What is kept of a run: every step of an optimizer, every backward pass, every turn of a scheduler; or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


class NotReplayable(Exception):
    """The code does something that a replay cannot do; the message is one line."""


class Untrained(Exception):
    """With the fix nothing is trained any more where something was; the message is what is lost."""


@dataclass(frozen=True)
class Step:
    """One step of an optimizer, and what came of it.

    Attributes:
        optimizer: the reference to it.
        round: the iteration, counted from 0.
        gradient: the gradients that it took; None when it was skipped.
        moved: how far its parameters are from where they began.
        changed: whether this step changed them.
        rate: the learning rate.
        scale: the loss scale of the scaler that stepped it; 1 for a step past all scalers.
    """

    optimizer: str
    round: int
    gradient: torch.Tensor | None
    moved: torch.Tensor
    changed: bool
    rate: float
    scale: float

    @property
    def finite(self) -> bool:
        """Whether the parameters are numbers afterwards."""
        return bool(self.moved.isfinite().all())


@dataclass
class RunRecord:
    """What is kept of a run."""

    steps: list[Step] = field(default_factory=list)
    leads: dict[str, list[int]] = field(default_factory=dict)
    """For each scheduler, after each of its steps: how many more it has taken than its optimizer."""
    backward: list[dict[str, torch.Tensor]] = field(default_factory=list)
    """What each backward pass added to the gradients of each optimizer."""
    readings: list[float] = field(default_factory=list)
    """The norm of the gradients at each reading of them."""
    reading_sites: list[int] = field(default_factory=list)
    """Where each of these readings stands."""
    reported: dict[int, list[float]] = field(default_factory=dict)
    """For the site of each report of a loss, in the order in which they were met: what was read out, time after time."""
    loss_errors: list[float] = field(default_factory=list)
    """How far each loss was from the one that the weights give, relative to that; empty unless each is computed twice."""
    error: str = ""
    repeats_backward: bool = False
    """Whether a backward pass has followed the same forward pass twice, as in a loop over losses."""
    precisions: list[str] = field(default_factory=list)
    """The precision of the products of each forward pass that a backward pass has followed."""
    scalers: dict[str, str] = field(default_factory=dict)
    """What each scaler is, with its settings, in words."""
    optimizers: dict[str, str] = field(default_factory=dict)
    """The same of each optimizer."""

    def skips(self) -> frozenset[tuple[str, int]]:
        """The steps that were skipped, by optimizer and iteration."""
        return frozenset((step.optimizer, step.round) for step in self.steps if step.gradient is None)
