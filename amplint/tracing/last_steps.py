"""What is known of the step before, where a weight is not finite though nothing in this step has made it so."""

from __future__ import annotations

import math
from typing import Any

import torch

from amplint.runtime.recording.object_names import ObjectNames
from amplint.tracing.step_record import StepRecord

_SMALLEST_HALF = 2.0**-25
"""What is not above half of the smallest float16 is zero in it."""


class LastSteps:
    """The last step of each optimizer.

    Args:
        objects: the optimizers by name.
    """

    def __init__(self, objects: ObjectNames) -> None:
        self._objects = objects
        self._steps: dict[str, StepRecord] = {}

    def note(self, step: StepRecord) -> None:
        """A step is over."""
        self._steps[step.optimizer] = step

    def blamed(self, name: str, weight: torch.Tensor) -> tuple[str, str]:
        """Where a weight became inf or NaN, as `file:line`, and why; the place is empty where no step may have done it.

        Args:
            name: the weight's name.
            weight: a parameter that was not finite before a step began.
        """
        said = f"`{name}` was not finite before this step"
        for step in self._steps.values():
            optimizer = self._objects.optimizer_named(step.optimizer)
            number = _group_of(optimizer, weight) if optimizer is not None and step.taken else None
            if optimizer is None or number is None or step.norm is None:
                continue
            if not math.isfinite(step.norm):
                return step.place, f"{said}: step {step.number} was taken with gradients that are not finite"
            rate = step.rates[number] if number < len(step.rates) else 0.0
            if not math.isfinite(rate):
                return step.place, f"{said}: step {step.number} was taken with a learning rate of {rate:g}"
            kind = type(optimizer).__name__
            return step.place, (
                f"{said}, and step {step.number} had finite gradients (norm {step.norm:.4g}): "
                f"`{kind}` made it so in its step, {_how(optimizer.param_groups[number], weight)}"
            )
        return "", f"{said}: look at the step before it, or at what it was loaded from"


def _how(group: dict[str, object], weight: torch.Tensor) -> str:
    epsilon = group.get("eps")
    if weight.dtype == torch.float16 and isinstance(epsilon, float) and epsilon <= _SMALLEST_HALF:
        return f"where its epsilon of {epsilon:g} is zero in float16: 0/0"
    return "or what else writes to it"


def _group_of(optimizer: torch.optim.Optimizer, weight: torch.Tensor) -> int | None:
    """The number of the group in which an optimizer steps a weight; None for one that is not its own."""
    groups: list[dict[str, Any]] = optimizer.param_groups
    return next((number for number, each in enumerate(groups) if any(one is weight for one in each["params"])), None)
