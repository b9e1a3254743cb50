"""The two worlds of a replay: the code's own, with AMP as it uses it; and the reference, float32 without AMP, done right."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import torch

from amplint.model import events
from amplint.model.event_graph import Test
from amplint.runtime.devices import CUDA, EMULATED
from amplint.runtime.training import torch_objects
from amplint.runtime.training.trainer import Training, TrainingSetup


class AmpRun(Training):
    """AMP as the code uses it.

    Args:
        setup: what is trained, and how.
        device: one of `amplint.runtime.devices`.
        on: whether the options of the code switch AMP on.
        scalers: the scalers that step each optimizer.
    """

    def __init__(self, setup: TrainingSetup, device: str, on: bool, scalers: Mapping[str, frozenset[str]]) -> None:
        super().__init__(setup)
        self._device, self._on, self._scalers_of = device, on, scalers
        self._scalers: dict[str, torch.amp.GradScaler] = {}
        self._marks: dict[str, dict[str, float]] = {}

    def region(self, region: events.Region) -> AbstractContextManager[object]:
        """The region that the code enters."""
        return autocast(region, self._device, self._on)

    def has_skipped(self, test: Test) -> bool:
        """Whether a scale fell since the values that the condition looks at were taken."""
        taken = [self._marks[name] for name in self._marks if name in test.refs]  # in the order in which they were
        if not taken:
            return False
        after = taken[-1] if len(taken) > 1 else self._scales()
        asked = {name.rpartition(".")[0] for name in test.refs} & after.keys() or after.keys()
        return any(after[name] < taken[0].get(name, after[name]) for name in asked)

    def _scales(self) -> dict[str, float]:
        return {name: scaler.get_scale() for name, scaler in self._scalers.items()}

    def _scaler(self, name: str) -> torch.amp.GradScaler:
        if name not in self._scalers:
            facts = self.objects.get(name, events.ObjectFacts())
            on = facts.enabled != "no" and (self._on or (facts.made and facts.enabled == "yes"))
            self._scalers[name] = torch_objects.scaler(facts, "cuda" if self._device == CUDA else "cpu", on)
        return self._scalers[name]

    def _assign(self, event: events.Assign) -> None:
        self._marks.pop(event.target, None)
        self._marks[event.target] = self._scales()
        super()._assign(event)

    def scale_or_step(self, event: events.Event) -> None:
        """Do what the code does."""
        match event:
            case events.Scale():
                self._scale(event)
            case events.Unscale():
                self._scaler(event.scaler).unscale_(self.optimizers[event.optimizer])
            case events.ScalerStep():
                scaler, optimizer = self._scaler(event.scaler), self.optimizers[event.optimizer]
                self.step(event.optimizer, lambda: scaler.step(optimizer))
            case events.ScalerUpdate():
                self._scaler(event.scaler).update()
            case events.OptimizerStep():
                self.step(event.optimizer, self.optimizers[event.optimizer].step)
            case events.SchedulerStep():
                self.advance(event.scheduler)

    def _scale(self, event: events.Scale) -> None:
        scaler = self._scaler(event.scaler)
        losses = self.loss(event.source)
        # A loss that one of several scalers scales belongs to the optimizers that this scaler steps.
        meant = {name for name in losses if event.scaler in self._scalers_of.get(name, {event.scaler})}
        self.assign(event.target, {name: scaler.scale(losses[name]) for name in losses if name in meant})


class ReferenceRun(Training):
    """What the author meant, in float32: a scaler only steps, and each iteration steps once, unless its gradients overflowed.

    Args:
        setup: what is trained, and how.
        last: how many steps the code takes for an optimizer in an iteration: the last one counts.
        skips: the steps, by optimizer and iteration, that the AMP run skips for an overflow of its own.
    """

    def __init__(
        self, setup: TrainingSetup, last: Mapping[tuple[str, int], int], skips: frozenset[tuple[str, int]]
    ) -> None:
        super().__init__(setup)
        self._last, self._skips = last, skips
        self._asked: dict[tuple[str, int], int] = {}
        self._turns: dict[str, int] = {}

    def region(self, region: events.Region) -> AbstractContextManager[object]:
        """Nothing runs in half here."""
        context: AbstractContextManager[object] = torch.no_grad() if region.device == "grad" else nullcontext()
        return context

    def has_skipped(self, test: Test) -> bool:
        """Whether the last step was skipped."""
        return bool(self.record.steps) and self.record.steps[-1].gradient is None

    def scale_or_step(self, event: events.Event) -> None:
        """Do without the scaler what the code does with it, no more than once in an iteration."""
        match event:
            case events.Scale():
                self.assign(event.target, self.loss(event.source))
            case events.ScalerStep() | events.OptimizerStep():
                self._step_once(event)
            case events.SchedulerStep():
                self._advance_once(event)

    def _clip(self, event: events.Clip) -> None:
        super()._clip(replace(event, raises=False))

    def _step_once(self, event: events.ScalerStep | events.OptimizerStep) -> None:
        name = event.optimizer
        at = name, self.rounds.of(name)
        self._asked[at] = self._asked.get(at, 0) + 1
        if self._asked[at] == self._last.get(at, 1):
            rightly = at not in self._skips and bool(self.gradient(name).isfinite().all())
            self.step(name, self.optimizers[name].step if rightly else _nothing)

    def _advance_once(self, event: events.SchedulerStep) -> None:
        steps = [step for step in self.record.steps if step.optimizer == self.owner(event.scheduler)]
        is_new, self._turns[event.scheduler] = len(steps) > self._turns.get(event.scheduler, 0), len(steps)
        if not (is_new and steps[-1].gradient is None):
            self.advance(event.scheduler)


def _nothing() -> None:
    """A step that is skipped."""


def autocast(region: events.Region, device: str, on: bool) -> AbstractContextManager[object]:
    """A region of the code.

    Args:
        region: what it asks for.
        device: one of `amplint.runtime.devices`.
        on: whether a region that an option switches is on.
    """
    context: AbstractContextManager[object] = torch.no_grad()
    if region.device == "grad":
        return context
    enabled = on if region.enabled == "maybe" else region.enabled == "yes"
    cached = None if region.cached else False
    dtype = torch.float16 if region.dtype == "?" else getattr(torch, region.dtype)
    if device == EMULATED and region.device != "cpu":
        from amplint.runtime.emulation import cuda_autocast

        context = cuda_autocast.region(dtype, enabled, cached)
    else:
        context = torch.autocast("cuda" if device == CUDA else "cpu", dtype, enabled, cached)
    return context
