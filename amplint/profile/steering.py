"""A program's own regions, scalers and seeds, set from outside: it is run in a precision without being edited."""

from __future__ import annotations

import functools
import inspect
import random
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch

from amplint.profile.modes import BFLOAT16, FLOAT16, FLOAT32, TF32
from amplint.runtime.device_names import CPU, CUDA
from amplint.runtime.recording.patches import Patches

_DTYPES = {FLOAT16: torch.float16, BFLOAT16: torch.bfloat16}


class Steering:
    """Sets a mode wherever the program enters a region or makes a scaler.

    A region that the program switches off stays off, unless it switches on none at all: then a flag does so.

    Attributes:
        entered: how many regions of the device were entered.
        enabled: how many of them the program has switched on.
        scalers: how many scalers the program has made.

    Args:
        mode: such as `float16`.
        device: `cuda`, `cuda-emulated` or `cpu`.
        shift: is added to all seeds that the program sets.
        wakes: whether regions that are switched off are switched on.
        on_enter: is called when a region is entered.
    """

    def __init__(self, mode: str, device: str, shift: int, wakes: bool, on_enter: Callable[[], None]) -> None:
        self.entered = self.enabled = self.scalers = 0
        self.elsewhere = ""
        self._mode, self._type, self._is_gpu = mode, CPU if device == CPU else CUDA, device == CUDA
        self._shift, self._wakes, self._on_enter = shift, wakes, on_enter
        self._dtype = _DTYPES.get(mode)
        self._written: weakref.WeakKeyDictionary[torch.autocast, bool] = weakref.WeakKeyDictionary()

    def install(self, patches: Patches) -> None:
        """Begin; `patches` takes it back."""
        patches.methods(torch.autocast, "__init__", self._made)  # those that torch makes itself follow others
        patches.methods(torch.autocast, "__enter__", self._enter, also_torch=True)
        patches.attribute(torch.amp.GradScaler, "__init__", self._scaler(torch.amp.GradScaler.__init__))
        patches.function((torch, torch.random), "manual_seed", self._seeded, "seed")
        patches.attribute(random, "seed", self._seeding(random.seed))
        numpy = sys.modules.get("numpy")  # torch has imported it, where it is there
        if numpy is not None:
            patches.attribute(numpy.random, "seed", self._seeding(numpy.random.seed))
            numpy.random.seed(0)
        torch.manual_seed(0)
        random.seed(0)
        self._set_tf32()

    def _made(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        original(*args, **kwargs)
        region = args[0]
        if str(region.device).partition(":")[0] == self._type:
            self._written[region] = bool(region._enabled)

    def _enter(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        region = args[0]
        written = self._written.get(region)
        if written is not None:
            self.entered += 1
            self.enabled += written
            is_outermost = not torch.is_autocast_enabled(self._type)
            region._enabled = self._dtype is not None and (written or (self._wakes and is_outermost))
            region.fast_dtype = self._dtype or region.fast_dtype
            self._set_tf32()
            self._on_enter()
        elif region._enabled:
            self.elsewhere = str(region.device).partition(":")[0]
        return original(*args, **kwargs)

    def _scaler(self, original: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def made(*args: Any, **kwargs: Any) -> None:
            given = signature.bind(*args, **kwargs)
            given.arguments["enabled"] = self._mode == FLOAT16
            if given.arguments.get("device", CUDA) == CUDA:
                given.arguments["device"] = self._type
            self.scalers += 1
            original(*given.args, **given.kwargs)

        return made

    def _seeded(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return original(*map(self._shifted, args), **{name: self._shifted(each) for name, each in kwargs.items()})

    def _seeding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._seeded(original, args, kwargs)

    def _shifted(self, seed: Any) -> Any:
        return seed + self._shift if isinstance(seed, int) else seed

    def _set_tf32(self) -> None:
        """Whatever the program has set: float32 is float32 throughout, and TF32 is on wherever there is any."""
        if self._is_gpu and self._mode in (FLOAT32, TF32):
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self._mode == TF32
