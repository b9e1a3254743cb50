"""The largest value that each module is given and gives, forward and backward, without waiting for the device in between.

Hooks on all modules reduce every floating tensor to its largest magnitude, which is inf or NaN where the tensor is not finite.
These numbers stay on the device until a step is over, and come to the processor together. Gradients are seen by hooks on the
outputs, which leave the autograd graph as it is.
"""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._pytree import tree_leaves

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import dtype_name, unseen
from amplint.tracing.module_names import ModuleNames
from amplint.tracing.trace_record import ModuleDtypes, TensorRange

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_TOO_MANY = 20_000
"""Numbers that wait for a step; more come from a program that takes none, and the oldest say nothing."""

_LATELY = 80
"""Numbers that are asked for before a step is over."""


@dataclass(frozen=True)
class RangeSeen:
    """One tensor at the edge of a module: `backward` says that it is the gradient of what the module gave."""

    module: str
    kind: str
    place: SourceLine | None
    given: bool
    backward: bool
    range: TensorRange


class Running(NamedTuple):
    """A module that is running, the program's line that called it, and the dtype of the region around it; None for none."""

    module: torch.nn.Module
    place: SourceLine | None
    region: torch.dtype | None


@dataclass(frozen=True)
class _Waiting:
    module: torch.nn.Module
    place: SourceLine | None
    given: bool
    backward: bool
    dtype: torch.dtype
    shape: tuple[int, ...]
    ends: tuple[torch.Tensor, torch.Tensor]


class ModuleWatch:
    """Watches all modules, from `install` until the patches are undone.

    Attributes:
        names: the names of modules, and of what they own.
        is_on: whether tensors are looked at; which module is running is known at all times.
    """

    def __init__(self) -> None:
        self.names = ModuleNames()
        self.is_on = True
        self._stack: list[Running] = []
        self._waiting: list[_Waiting] = []
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int, tuple[torch.Tensor, torch.Tensor]]] = {}
        self._hooked: dict[int, weakref.ref[torch.Tensor]] = {}
        self._gave: Counter[tuple[str, str, str]] = Counter()

    def install(self, patches: Patches) -> None:
        """Begin; `patches` takes it back."""
        patches.on_undo(register_module_forward_pre_hook(self._before).remove)
        patches.on_undo(register_module_forward_hook(self._after, always_call=True).remove)

    def innermost(self) -> Running | None:
        """The innermost module that is running."""
        return self._stack[-1] if self._stack else None

    def is_inside(self) -> bool:
        """Whether a module is running."""
        return bool(self._stack)

    def named(self, running: Running | None) -> tuple[str, str]:
        """The path and the class of a module; empty for none."""
        return ("", "") if running is None else (self.names.path(running.module), type(running.module).__name__)

    def taken(self) -> list[RangeSeen]:
        """What was seen since the last call, in the order in which it was computed."""
        waiting, self._waiting = self._waiting, []
        self._known, self._hooked = {}, {}
        return self._seen(waiting)

    def lately(self) -> list[RangeSeen]:
        """What was seen just now, and what the modules that are running were given; waits for the device."""
        running = {id(one.module) for one in self._stack}
        late = len(self._waiting) - _LATELY
        return self._seen(
            [
                one
                for number, one in enumerate(self._waiting)
                if number >= late or (one.given and id(one.module) in running)
            ]
        )

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Look at what runs inside by itself: what was seen before is kept for later, and nothing inside is counted."""
        kept = self._waiting, self._known, self._hooked, self._gave, self.is_on
        self._waiting, self._known, self._hooked, self._gave, self.is_on = [], {}, {}, Counter(), True
        try:
            yield
        finally:
            self._waiting, self._known, self._hooked, self._gave, self.is_on = kept

    def _seen(self, waiting: list[_Waiting]) -> list[RangeSeen]:
        with unseen():
            ranges = _ranges(waiting)
        return [
            RangeSeen(self.names.path(one.module), type(one.module).__name__, one.place, one.given, one.backward, seen)
            for one, seen in zip(waiting, ranges)
        ]

    def dtypes(self) -> list[ModuleDtypes]:
        """In which dtypes the innermost modules have computed."""
        kept: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for (module, kind, dtype), calls in self._gave.items():
            kept.setdefault((module, kind), []).append((dtype, calls))
        return [ModuleDtypes(module, kind, tuple(calls)) for (module, kind), calls in kept.items()]

    # -- hooks -----------------------------------------------------------------------------------------------------

    def _before(self, module: torch.nn.Module, given: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if not self._stack:
            self.names.name_all(module)
        running = Running(module, caller(), _region())
        self._stack.append(running)
        if self.is_on:
            with unseen():
                for tensor in _floating(given):
                    self._note(module, running.place, tensor, given=True)

    def _after(self, module: torch.nn.Module, given: Any, result: Any) -> None:
        if torch.compiler.is_compiling() or not any(running.module is module for running in self._stack):
            return
        while (running := self._stack.pop()).module is not module:  # those inside it were left by an exception
            pass
        if self.is_on:
            with unseen():
                for tensor in _floating(result):
                    self._gives(running, tensor)

    def _gives(self, running: Running, tensor: torch.Tensor) -> None:
        """A module gives a tensor, the gradient of which is looked at, too."""
        module = running.module
        self._note(module, running.place, tensor)
        if not any(True for _ in module.children()):
            self._gave[self.names.path(module), type(module).__name__, dtype_name(tensor.dtype)] += 1
        hooked = self._hooked.get(id(tensor))
        if tensor.requires_grad and tensor.grad_fn is not None and (hooked is None or hooked() is not tensor):
            self._hooked[id(tensor)] = weakref.ref(tensor)
            tensor.register_hook(partial(self._gradient, running))

    def _gradient(self, running: Running, grad: torch.Tensor) -> None:
        with unseen():
            self._note(running.module, running.place, grad, backward=True)

    def _note(
        self,
        module: torch.nn.Module,
        place: SourceLine | None,
        tensor: torch.Tensor,
        given: bool = False,
        backward: bool = False,
    ) -> None:
        if (
            torch.compiler.is_compiling()
            or not tensor.numel()
            or tensor.dtype not in _DTYPES
            or tensor.layout != torch.strided
        ):
            return
        if tensor.device.type == "meta" or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return
        if len(self._waiting) >= _TOO_MANY:
            del self._waiting[: _TOO_MANY // 2]
            self._known, self._hooked = {}, {}
        self._waiting.append(
            _Waiting(module, place, given, backward, tensor.dtype, tuple(tensor.shape), self._ends(tensor))
        )

    def _ends(self, tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The smallest and the largest element. What one module gives is given to the next: it is looked at once."""
        version = 0 if tensor.is_inference() else tensor._version
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == version:
            return known[2]
        low, high = torch.aminmax(tensor.detach())  # autocast leaves it alone
        self._known[id(tensor)] = weakref.ref(tensor), version, (low, high)
        return low, high


def _region() -> torch.dtype | None:
    for device in ("cuda", "cpu"):
        if torch.is_autocast_enabled(device):
            return torch.get_autocast_dtype(device)
    return None


def _floating(values: Any) -> Iterator[torch.Tensor]:
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            yield leaf


def _ranges(waiting: list[_Waiting]) -> list[TensorRange]:
    """The ranges of tensors; one wait for each device."""
    largest: dict[int, float] = {}
    by_device: dict[torch.device, list[int]] = {}
    for number, one in enumerate(waiting):
        by_device.setdefault(one.ends[0].device, []).append(number)
    for numbers in by_device.values():
        ends = torch.stack([end.float() for number in numbers for end in waiting[number].ends])
        largest.update(zip(numbers, ends.view(-1, 2).abs().amax(1).tolist()))
    return [
        TensorRange("", dtype_name(one.dtype), one.shape, largest[number], math.isfinite(largest[number]))
        for number, one in enumerate(waiting)
    ]
