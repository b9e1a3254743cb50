"""Steps of optimizers, as they happen: the scale, the loss, the gradients, and whether the step was taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import torch

from amplint.model.events import Backward, OptimizerStep, Scale, ScalerStep, ScalerUpdate
from amplint.runtime.recording.event_log import Move, Recorded
from amplint.runtime.recording.object_names import ObjectNames, optimizer_parameters
from amplint.runtime.recording.tensor_facts import GRAD
from amplint.trace.trace_record import StepRecord

_KEPT = 10_000
"""Steps of which everything is kept; of older ones only their number."""
_NAMED = 12
"""Parameters that are named for one skipped step."""


class StepLog:
    """Makes a record of each step from the moves of a recorder.

    Args:
        objects: the names of the objects that the moves speak of.
        parameters: the names of parameters, by id.
        on_step: gets each step when it is over, and gives back what is to be kept of it.
    """

    def __init__(
        self, objects: ObjectNames, parameters: Mapping[int, str], on_step: Callable[[StepRecord], StepRecord]
    ) -> None:
        self.kept: deque[StepRecord] = deque(maxlen=_KEPT)
        self.tried = 0
        self.skipped = 0
        self.scales: list[float] = []
        self._objects, self._parameters, self._on_step = objects, parameters, on_step
        self._loss: float | None = None

    def follow(self, move: Move) -> None:
        """Take the next move."""
        if move.raised:
            return
        recorded = move.recorded
        match recorded.event:
            case Scale():
                self._loss = _number(recorded, "loss", self._loss)
            case Backward() if not recorded.values.get("scaler"):
                self._loss = _number(recorded, "loss", self._loss)
            case ScalerStep():
                self._step(recorded, bool(recorded.values.get("skipped")), _number(recorded, "scale"))
            case OptimizerStep():
                self._step(recorded, False, None)
            case ScalerUpdate() if (scale := _number(recorded, "scale")) is not None:
                if not self.scales or self.scales[-1] != scale:
                    self.scales.append(scale)

    def _step(self, recorded: Recorded, skipped: bool, scale: float | None) -> None:
        self.tried += 1
        self.skipped += skipped
        event = recorded.event
        assert isinstance(event, (ScalerStep, OptimizerStep))
        rates = recorded.values.get("lr", ())
        step = StepRecord(
            self.tried,
            str(recorded.place),
            event.optimizer,
            not skipped,
            scale if recorded.values.get("enabled") else None,
            self._loss,
            _number(recorded, "norm"),
            rates if isinstance(rates, tuple) else (),
            self._nonfinite(event.optimizer) if skipped else (),
        )
        self.kept.append(self._on_step(step))

    def _nonfinite(self, name: str) -> tuple[str, ...]:
        """The names of an optimizer's parameters whose gradients hold inf or NaN."""
        optimizer = self._objects.optimizer_named(name)
        if optimizer is None:
            return ()
        parameters = [each for each in optimizer_parameters(optimizer) if GRAD.__get__(each) is not None]
        if not parameters:
            return ()
        finite = torch.stack([torch.isfinite(GRAD.__get__(each)).all().cpu() for each in parameters]).tolist()
        bad = [each for each, is_finite in zip(parameters, finite) if not is_finite]
        named = [self._parameters.get(id(each), f"a parameter of shape {tuple(each.shape)}") for each in bad[:_NAMED]]
        return (*named, *([f"{len(bad) - _NAMED} more"] if len(bad) > _NAMED else []))


def _number(recorded: Recorded, name: str, otherwise: float | None = None) -> float | None:
    value = recorded.values.get(name)
    return float(value) if isinstance(value, (int, float)) else otherwise
