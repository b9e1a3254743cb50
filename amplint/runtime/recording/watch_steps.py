"""Scalers, optimizers, schedulers: who steps, on what gradients, and whether the step was taken."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from amplint.model.events import Escape, OptimizerStep, Scale, ScalerStep, ScalerUpdate, SchedulerStep, Unscale
from amplint.runtime.recording.event_log import MeasuredFacts, Recorded
from amplint.runtime.recording.object_names import optimizer_parameters
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import Mark, dtype_name, gradients, mark, scalar_value, size
from amplint.runtime.recording.watcher import Arguments, Called, Named, Watch, given_argument

_GET_SCALE = torch.amp.GradScaler.get_scale


class _Stepping(threading.local):
    """The scaler's steps that are running on this thread: the optimizer, and what is written down about the step."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, Recorded]] = []


class StepWatch:
    """Watches scalers, optimizers and schedulers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._stepping = _Stepping()

    def install(self, patches: Patches) -> None:
        """Surround what torch offers; `patches` takes it back."""
        scaler = torch.amp.GradScaler
        patches.methods(scaler, "scale", self._scale)
        patches.methods(scaler, "unscale_", self._unscale)
        patches.methods(scaler, "step", self._scaler_step)
        patches.methods(scaler, "update", self._update)
        patches.methods(LRScheduler, "step", self._scheduler_step)
        patches.on_undo(register_optimizer_step_pre_hook(self._before_step).remove)
        patches.on_undo(register_optimizer_step_post_hook(self._after_step).remove)

    # -- scalers ---------------------------------------------------------------------------------------------------

    def _scale_of(self, scaler: Any, name: str) -> float:
        scale = float(_GET_SCALE(scaler))
        if scaler.is_enabled():
            self._watch.scales[name] = scale
        return scale

    def _scale(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, scaler = self._watch, args[0]
        name, target, source = watch.names.scaler(scaler), watch.names.fresh("scaled"), watch.names.fresh("loss")
        recorded = watch.file(lambda site: Scale(site, target, name, source))
        if recorded is None:
            return original(*args, **kwargs)
        result = watch.run(recorded, original, args, kwargs)
        scale = self._scale_of(scaler, name)
        given = given_argument(args, kwargs, 1, "outputs")
        recorded.values.update(scale=scale, enabled=scaler.is_enabled())
        if isinstance(given, torch.Tensor):
            recorded.values.update(loss=scalar_value(given), dtype=dtype_name(given.dtype))
        watch.journal.conclude(recorded)
        # A disabled scaler hands back what it was given: nothing is scaled.
        return _marked(result, Mark(watch.journal, target, name, scale)) if scaler.is_enabled() else result

    def _unscale(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, scaler, optimizer = self._watch, args[0], given_argument(args, kwargs, 1, "optimizer")
        if not hasattr(optimizer, "param_groups"):
            return original(*args, **kwargs)
        name, of = watch.names.scaler(scaler), watch.names.optimizer(optimizer)
        recorded = watch.file(lambda site: Unscale(site, name, of))
        if recorded is None:
            return original(*args, **kwargs)
        result = watch.run(recorded, original, args, kwargs)
        found = _found_inf(scaler, optimizer)
        recorded.values.update(
            scale=self._scale_of(scaler, name),
            found_inf=found,
        )
        if watch.journal.keeps:
            recorded.values.update(size(gradients(optimizer_parameters(optimizer))))
        watch.journal.conclude(recorded, MeasuredFacts(overflow=found > 0))
        return result

    def _scaler_step(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, scaler, optimizer = self._watch, args[0], given_argument(args, kwargs, 1, "optimizer")
        if not hasattr(optimizer, "param_groups"):
            return original(*args, **kwargs)
        name, of = watch.names.scaler(scaler), watch.names.optimizer(optimizer)
        closure = given_argument(args, kwargs, 2, "closure") is not None
        recorded = watch.file(lambda site: ScalerStep(site, name, of, closure))
        if recorded is None:
            return original(*args, **kwargs)
        recorded.values.update(scale=self._scale_of(scaler, name), enabled=scaler.is_enabled())
        self._stepping.steps.append((optimizer, recorded))
        try:
            result = watch.run(recorded, original, args, kwargs)
        finally:
            self._stepping.steps.pop()
        if "skipped" in recorded.values:  # concluded before the optimizer has changed the weights
            return result
        found = _found_inf(scaler, optimizer)
        recorded.values.update(found_inf=found, skipped=found > 0)
        if found > 0:  # what the scaler saw; an optimizer that was called all the same has not used it
            recorded.values.update(size(gradients(optimizer_parameters(optimizer))))
        watch.journal.conclude(recorded, MeasuredFacts(taken=not found > 0))
        if closure:
            watch.journal.conclude(Recorded(Escape(recorded.event.site, ()), recorded.place, recorded.thread))
        return result

    def _update(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, scaler = self._watch, args[0]
        name = watch.names.scaler(scaler)
        given = given_argument(args, kwargs, 1, "new_scale") is not None
        recorded = watch.file(lambda site: ScalerUpdate(site, name, given))
        if recorded is None:
            return original(*args, **kwargs)
        recorded.values.update(before=self._scale_of(scaler, name))
        result = watch.run(recorded, original, args, kwargs)
        recorded.values.update(scale=self._scale_of(scaler, name))
        watch.journal.conclude(recorded)
        return result

    # -- optimizers ------------------------------------------------------------------------------------------------

    def _before_step(self, optimizer: Any, args: Arguments, kwargs: Named) -> None:
        if (recorded := self._by_scaler(optimizer)) is not None:
            self._measure(recorded, optimizer)
            if not (
                recorded.values["enabled"] or _has_closure(args, kwargs)
            ):  # then it is like a step without a scaler
                recorded.values.update(found_inf=0.0, skipped=False)
                self._watch.journal.conclude(recorded, MeasuredFacts(taken=True))
        elif not _nested(sys._getframe(1)) and not _has_closure(args, kwargs):
            self._optimizer_step(optimizer)

    def _after_step(self, optimizer: Any, args: Arguments, kwargs: Named) -> None:
        # A closure computes the gradients that are used: its events come first.
        if self._by_scaler(optimizer) is None and _has_closure(args, kwargs) and not _nested(sys._getframe(1)):
            self._optimizer_step(optimizer)

    def _by_scaler(self, optimizer: Any) -> Recorded | None:
        steps = self._stepping.steps
        return steps[-1][1] if steps and steps[-1][0] is optimizer else None

    def _optimizer_step(self, optimizer: Any) -> None:
        watch = self._watch
        name = watch.names.optimizer(optimizer)
        recorded = watch.file(lambda site: OptimizerStep(site, name))
        if recorded is not None:
            self._measure(recorded, optimizer)
            watch.journal.conclude(recorded)

    @staticmethod
    def _measure(recorded: Recorded, optimizer: Any) -> None:
        """Write down the gradients that an optimizer is about to use; a fused one divides by the scale itself."""
        seen = size(gradients(optimizer_parameters(optimizer)))
        divisor = getattr(optimizer, "grad_scale", None)
        if isinstance(divisor, torch.Tensor) and isinstance(norm := seen["norm"], float):
            seen["norm"] = norm / float(divisor.item())
        recorded.values.update(seen, lr=_rates(optimizer))

    # -- schedulers ------------------------------------------------------------------------------------------------

    def _scheduler_step(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, scheduler = self._watch, args[0]
        if len(args) > 1 or kwargs:  # told a metric or an epoch, it does not count its calls
            return original(*args, **kwargs)
        name = watch.names.scheduler(scheduler)
        recorded = watch.file(lambda site: SchedulerStep(site, name))
        if recorded is None:
            return original(*args, **kwargs)
        recorded.values.update(before=_rates(scheduler.optimizer))
        result = watch.run(recorded, original, args, kwargs)
        recorded.values.update(lr=_rates(scheduler.optimizer))
        watch.journal.conclude(recorded)
        return result


def _marked(result: Any, made: Mark) -> Any:
    if isinstance(result, torch.Tensor):
        mark(result, made)
        return result
    if isinstance(result, (list, tuple)):
        for each in result:
            _marked(each, made)
        return result
    return (_marked(each, made) for each in result) if isinstance(result, Iterable) else result


def _found_inf(scaler: Any, optimizer: Any) -> float:
    """How many devices met an overflow in this optimizer's gradients; there is no public way to ask."""
    if not scaler.is_enabled():
        return 0.0
    return float(sum(found.item() for found in scaler._found_inf_per_device(optimizer).values()))


def _rates(optimizer: Any) -> tuple[float, ...]:
    return tuple(float(group["lr"]) for group in optimizer.param_groups if "lr" in group)


def _has_closure(args: Arguments, kwargs: Named) -> bool:
    return given_argument(args, kwargs, 1, "closure") is not None


def _nested(hook_caller: FrameType) -> bool:
    """Whether an optimizer's step runs inside another optimizer's: all steps share the code that calls the hooks."""
    frame = hook_caller.f_back
    while frame is not None:
        if frame.f_code is hook_caller.f_code:
            return True
        frame = frame.f_back
    return False
