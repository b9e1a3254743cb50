"""Steps of optimizers, as they happen: the scale, the loss, the gradients, and whether the step was taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

from amplint.model.events import Backward, Clip, OptimizerStep, Scale, ScalerStep, ScalerUpdate, Unscale
from amplint.runtime.recording.event_log import Move, Recorded
from amplint.runtime.recording.object_names import ObjectNames, optimizer_parameters
from amplint.runtime.recording.tensor_facts import GRAD
from amplint.tracing.sampling import Sampling
from amplint.tracing.step_record import StepRecord, StepTotals

WARM_UP = 20
"""Steps in which a scale of 65536 may still settle."""
_NAMED = 12
"""Parameters that are named for one skipped step."""

_ANY = ""
"""Stands for whichever optimizer steps next: gradients were clipped before any was met."""


class _Clipped(NamedTuple):
    norm: float
    kept: float
    unscaled: bool


class StepLog:
    """Makes a record of each step from the moves of a recorder.

    Args:
        objects: the names of the objects that the moves speak of.
        parameters: the names of parameters, by id.
        judge: gets each step when it is over, and completes it.
        on_kept: gets those that are kept.
    """

    def __init__(
        self,
        objects: ObjectNames,
        parameters: Mapping[int, str],
        judge: Callable[[StepRecord], StepRecord],
        on_kept: Callable[[StepRecord], None],
    ) -> None:
        self.totals = StepTotals()
        self._objects, self._parameters, self._judge, self._on_kept = objects, parameters, judge, on_kept
        self._sampling = Sampling()
        self._left_out: StepRecord | None = None
        self._loss: float | None = None
        self._unscaled: set[str] = set()
        self._clips: dict[str, _Clipped] = {}

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
            case Unscale(optimizer=name):
                self._unscaled.add(name)
            case Clip(owners=owners):
                self._clipped(owners, recorded)
            case ScalerStep():
                self._step(recorded, bool(recorded.values.get("skipped")), _number(recorded, "scale"))
            case OptimizerStep():
                self._step(recorded, False, None)
            case ScalerUpdate() if (scale := _number(recorded, "scale")) is not None:
                self.totals.lowest_scale = min(self.totals.lowest_scale, scale)

    def _clipped(self, owners: tuple[str, ...], recorded: Recorded) -> None:
        before, limit = _number(recorded, "before"), _number(recorded, "limit")
        if before and limit is not None:
            after = _number(recorded, "norm", min(before, limit))
            assert after is not None
            names = [owner.removesuffix(".parameters") for owner in owners]
            self._clips |= {name: _Clipped(before, after / before, name in self._unscaled) for name in names or [_ANY]}

    def _clip_of(self, optimizer: str, scale: float | None) -> tuple[float | None, float | None]:
        """The norm of the true gradients before they were clipped, and the share of it that was left."""
        clip = self._clips.pop(optimizer, None) or self._clips.pop(_ANY, None)
        self._unscaled.discard(optimizer)
        if clip is None:
            return None, None
        return (clip.norm / scale if scale and not clip.unscaled else clip.norm), clip.kept

    def _step(self, recorded: Recorded, skipped: bool, scale: float | None) -> None:
        event = recorded.event
        assert isinstance(event, (ScalerStep, OptimizerStep))
        scale = scale if recorded.values.get("enabled") else None
        step = StepRecord(
            self.totals.tried + 1,
            str(recorded.place),
            event.optimizer,
            not skipped,
            scale,
            self._loss,
            _number(recorded, "norm"),
            *self._clip_of(event.optimizer, scale),
            self._rates(event.optimizer),
            self._nonfinite(event.optimizer) if skipped else (),
        )
        step = self._judge(step)
        self.totals.add(step, is_late=step.number > WARM_UP)
        kept = self._sampling.keeps(step)
        if kept:
            self._on_kept(step)
        self._left_out = None if kept else step

    def end(self) -> None:
        """The run is over: the last step is kept, too."""
        if self._left_out is not None:
            self._on_kept(self._left_out)
            self._left_out = None

    def _rates(self, name: str) -> tuple[float, ...]:
        optimizer = self._objects.optimizer_named(name)
        groups = optimizer.param_groups if optimizer is not None else ()
        return tuple(float(group["lr"]) for group in groups if "lr" in group)

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
