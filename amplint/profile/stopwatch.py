"""The steps of a program: how long each takes, what it waits for, its loss, and whether the scaler has left it out.

A step ends where the optimizer that stepped first steps again, or is left out by a scaler. On a GPU times are those between
events on the stream of the program, which is never waited for while it runs; elsewhere those of the clock.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._pytree import tree_leaves
from torch.utils.data import dataloader

from amplint.profile import memory
from amplint.profile.memory import KeptForBackward
from amplint.profile.profile_record import StepTime
from amplint.runtime.device_names import CUDA
from amplint.runtime.recording.patches import Patches
from amplint.tracing.script import EnoughSeen

_COUNTED = 2
"""The step in which it is counted what autograd keeps: there is time for it in the warm-up."""

Arguments = tuple[Any, ...]
Named = dict[str, Any]


class Stopwatch:
    """Watches the steps of a program, and ends it after the last one that is wanted.

    Attributes:
        tried: steps of all optimizers.
        batch: the first dimension of what the model is given; 0 until that is known.
        weights: how many parameters the optimizer has.
        resting: the bytes that were held when the warm-up was over.

    Args:
        device: `cuda`, `cuda-emulated` or `cpu`.
        warm_up: how many steps come before those that count.
        steps: how many steps count.
    """

    def __init__(self, device: str, warm_up: int, steps: int) -> None:
        self.tried = self.batch = self.weights = 0
        self.resting: int | None = None
        self._device, self._warm_up, self._last = device, warm_up, warm_up + steps
        self._now: Callable[[], Any] = _event if device == CUDA else time.perf_counter
        self._ends: list[Any] = []
        self._begins: list[Any] = []
        self._loads: list[float] = []
        self._losses: list[list[Any]] = []
        self._found: list[torch.Tensor | bool] = []
        self._is_begun = True
        self._is_loading = self._is_scaling = self._has_stepped = False
        self._loaded = 0.0
        self._of_step: list[Any] = []
        self._scaled: weakref.ref[torch.Tensor] | None = None
        self._first: weakref.ref[Any] | None = None
        self._parameters: list[torch.Tensor] = []
        self._kept: KeptForBackward | None = None
        self._counted: KeptForBackward | None = None

    def install(self, patches: Patches) -> None:
        """Begin; `patches` takes it back."""
        patches.methods(torch.amp.GradScaler, "scale", self._scale)
        patches.methods(torch.amp.GradScaler, "step", self._scaler_step)
        patches.method(torch.Tensor, "backward", self._backward)
        patches.methods(dataloader._BaseDataLoaderIter, "__next__", self._load, also_torch=True)
        patches.on_undo(register_optimizer_step_post_hook(self._stepped).remove)
        patches.on_undo(register_module_forward_pre_hook(self._called).remove)

    def begin(self) -> None:
        """The forward pass of a step begins, unless it has: a region is entered, or a module is called."""
        if not (self._is_begun or self._is_loading):
            self._is_begun = True
            self._begins.append(self._now())

    def repeat(self, function: Callable[[], Any]) -> None:
        """Call a function again and again; a call without a step of an optimizer is one step."""
        while True:
            before = len(self._ends)
            result = function()
            if len(self._ends) == before:
                if isinstance(result, torch.Tensor) and result.numel() == 1:
                    self._of_step.append(result.detach())
                self._end()

    # -- what was seen ---------------------------------------------------------------------------------------------

    def times(self) -> tuple[StepTime, ...]:
        """The steps after the warm-up."""
        if self._device == CUDA:
            torch.cuda.synchronize()
        return tuple(
            StepTime(
                self._between(self._ends[at - 1], end), self._between(self._ends[at - 1], self._begins[at - 1]), load
            )
            for at, (end, load) in enumerate(zip(self._ends, self._loads))
            if at >= self._warm_up
        )

    def losses(self) -> tuple[float, ...]:
        """The losses of all steps; where there are several in one, their mean. Empty where there are none at all."""
        if not any(self._losses):
            return ()
        return tuple(math.fsum(map(float, step)) / len(step) if step else math.nan for step in self._losses)

    def skipped(self) -> int:
        """How many steps the scaler has left out."""
        return sum(bool(found) for found in self._found)

    def kept(self) -> int | None:
        """The most bytes that autograd kept for the backward pass; None where that was not seen."""
        return self._counted.most if self._counted is not None else None

    def _between(self, start: Any, end: Any) -> float:
        return float(start.elapsed_time(end) / 1000 if self._device == CUDA else end - start)

    # -- while the program runs ------------------------------------------------------------------------------------

    def _called(self, module: torch.nn.Module, given: Any) -> None:
        if torch.compiler.is_compiling() or self._is_loading or (self._is_begun and self.batch):
            return
        if next(module.parameters(), None) is None:
            return
        self.begin()
        if not self.batch:
            shapes = [one.shape for one in tree_leaves(given) if isinstance(one, torch.Tensor) and one.dim() > 1]
            self.batch = shapes[0][0] if shapes else 0

    def _load(self, original: Callable[..., Any], args: Arguments, kwargs: Named) -> Any:
        began, self._is_loading = time.perf_counter(), True
        try:
            return original(*args, **kwargs)
        finally:
            self._is_loading = False
            self._loaded += time.perf_counter() - began

    def _scale(self, original: Callable[..., Any], args: Arguments, kwargs: Named) -> Any:
        result = original(*args, **kwargs)
        given = args[1] if len(args) > 1 else kwargs.get("outputs")
        if isinstance(result, torch.Tensor) and isinstance(given, torch.Tensor) and given.numel() == 1:
            self._of_step.append(given.detach())
            self._scaled = weakref.ref(result)
        return result

    def _backward(self, original: Callable[..., Any], args: Arguments, kwargs: Named) -> Any:
        loss = args[0]
        is_scaled = self._scaled is not None and self._scaled() is loss
        if loss.numel() == 1 and not is_scaled:
            self._of_step.append(loss.detach())
        return original(*args, **kwargs)

    def _scaler_step(self, original: Callable[..., Any], args: Arguments, kwargs: Named) -> Any:
        scaler, optimizer = args[0], args[1] if len(args) > 1 else kwargs["optimizer"]
        self._is_scaling, self._has_stepped = True, False
        try:
            result = original(*args, **kwargs)
        finally:
            self._is_scaling = False
        self._found.append(_found_inf(scaler, optimizer) if self._has_stepped else True)
        self._tried(optimizer)
        return result

    def _stepped(self, optimizer: Any, args: Arguments, kwargs: Named) -> None:
        self._has_stepped = True
        if not self._is_scaling:
            self._tried(optimizer)

    def _tried(self, optimizer: Any) -> None:
        self.tried += 1
        if self._first is None or self._first() is None:
            self._first = weakref.ref(optimizer)
            self._parameters = [one for group in optimizer.param_groups for one in group["params"]]
            self.weights = sum(one.numel() for one in self._parameters)
        if self._first() is optimizer:
            self._end()

    def _end(self) -> None:
        self.begin()
        self._ends.append(self._now())
        self._loads.append(self._loaded)
        self._losses.append(self._of_step)
        self._of_step, self._loaded, self._is_begun = [], 0.0, False
        done = len(self._ends)
        if done == self._warm_up:
            self.resting = memory.resting(self._device)
            memory.forget_peak(self._device)
        if done >= self._last:
            raise EnoughSeen(f"{done} steps were measured")
        self._count(done)

    def _count(self, done: int) -> None:
        """In one step of the warm-up, count what autograd keeps."""
        if done == _COUNTED - 1 and self._warm_up >= _COUNTED:
            self._kept = KeptForBackward(self._parameters)
            self._kept.__enter__()
        elif self._kept is not None:
            with suppress(RuntimeError):  # the program has hooks of its own, which do not end where a step does
                self._kept.__exit__(None, None, None)
                self._counted = self._kept
            self._kept = None


def _event() -> Any:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _found_inf(scaler: Any, optimizer: Any) -> torch.Tensor | bool:
    """Whether an optimizer that steps by itself, and checks the gradients there, has left the step out."""
    if not (scaler.is_enabled() and getattr(optimizer, "_step_supports_amp_scaling", False)):
        return False
    return torch.stack([found.reshape(()).clone() for found in scaler._found_inf_per_device(optimizer).values()]).sum()
