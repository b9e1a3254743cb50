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
from amplint.runtime.training.path_facts import Intent, optimizers_scaled_by
from amplint.runtime.training.trainer import Training
from amplint.runtime.training.training_setup import TrainingSetup


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
            made = self._scalers[name] = torch_objects.scaler(facts, "cuda" if self._device == CUDA else "cpu", on)
            self.record.scalers[name] = torch_objects.described_scaler(made, facts)
        return self._scalers[name]

    def assign(self, event: events.Assign) -> None:
        """Make an assignment happen, and remember the scales at that time."""
        self._marks.pop(event.target, None)
        self._marks[event.target] = self._scales()
        super().assign(event)

    def scale_or_step(self, event: events.Event) -> None:
        """Do what the code does."""
        match event:
            case events.Scale():
                self._scale(event)
            case events.Unscale():
                self._scaler(event.scaler).unscale_(self.optimizers[event.optimizer])
            case events.ScalerStep():
                scaler, optimizer = self._scaler(event.scaler), self.optimizers[event.optimizer]
                self.step(event.optimizer, lambda: scaler.step(optimizer), scaler.get_scale())
            case events.ScalerUpdate():
                self._scaler(event.scaler).update()
            case events.OptimizerStep():
                self.step(event.optimizer, self.optimizers[event.optimizer].step)
            case events.SchedulerStep():
                self.advance(event.scheduler)

    def _scale(self, event: events.Scale) -> None:
        scaler = self._scaler(event.scaler)
        losses = self.losses.altered(event.site, self.losses.of(event.source))
        meant = optimizers_scaled_by(event.scaler, losses, self._scalers_of)
        self.losses.hold(event.target, {name: scaler.scale(losses[name]) for name in meant})


class ReferenceRun(Training):
    """What the author meant, in float32: a scaler only steps, and each iteration steps once, unless its gradients overflowed.

    Args:
        setup: what is trained, and how.
        intent: what was meant, where the path does otherwise.
        skips: the steps, by optimizer and iteration, that the AMP run skips for an overflow of its own.
    """

    def __init__(self, setup: TrainingSetup, intent: Intent, skips: frozenset[tuple[str, int]]) -> None:
        super().__init__(setup)
        self._intent, self._skips = intent, skips
        self._clips = self._clearings = 0
        self._postponed: list[events.ZeroGrad] = []
        self._asked: dict[tuple[str, int], int] = {}
        self._turns: dict[str, dict[str, int]] = {}
        """For each optimizer, how many steps it had taken when each of its schedules last had a turn."""

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
                losses = self.losses.of(event.source)
                meant = optimizers_scaled_by(event.scaler, losses, self._intent.scalers)
                self.losses.hold(event.target, {name: losses[name] for name in meant})
            case events.ScalerStep() | events.OptimizerStep():
                self._step_once(event)
            case events.SchedulerStep():
                self._advance_once(event)

    def clip(self, event: events.Clip, owners: list[str]) -> None:
        """Clip gradients once in an iteration, infinite ones without an error.

        Args:
            event: how they are clipped.
            owners: the optimizers whose gradients they are.
        """
        if self._clips not in self._intent.repeated_clips:
            super().clip(replace(event, raises=False), owners)
        self._clips += 1

    def clear(self, event: events.ZeroGrad) -> None:
        """Clear gradients, but none that the optimizer is to step on next: those behind the step."""
        if self._clearings in self._intent.early_clears:
            self._postponed.append(event)
        else:
            super().clear(event)
        self._clearings += 1

    def _step_once(self, event: events.ScalerStep | events.OptimizerStep) -> None:
        name = event.optimizer
        at = name, self.rounds.of(name)
        self._asked[at] = self._asked.get(at, 0) + 1
        if self._asked[at] == self._intent.steps.get(at, 1):
            rightly = at not in self._skips and bool(self.gradient(name).isfinite().all())
            self.step(name, self.optimizers[name].step if rightly else _nothing)
            due = [each for each in self._postponed if each.optimizer in ("", name)]
            self._postponed = [each for each in self._postponed if each not in due]
            for each in due:
                super().clear(each)

    def _advance_once(self, event: events.SchedulerStep) -> None:
        """Advance, unless all steps were skipped in this iteration, or since a schedule of this optimizer last had a turn."""
        owner = self.owner(event.scheduler)
        steps = [step for step in self.record.steps if step.optimizer == owner]
        turns = self._turns.setdefault(owner, {})
        is_again = turns.get(event.scheduler) == len(steps)
        if event.site in self._intent.schedules_of_steps:
            recent = steps[-1:]
        else:
            recent = steps[max((turn for turn in turns.values() if turn < len(steps)), default=0) :]
        if is_again or not recent or any(step.gradient is not None for step in recent):
            self.advance(event.scheduler)
        turns[event.scheduler] = len(steps)


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
