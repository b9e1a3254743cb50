"""A GPU that is not there: what a script puts on CUDA stays on the CPU, and meets CUDA's autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from amplint.runtime.emulation.cuda_autocast import cuda_autocast
from amplint.runtime.recording.patches import Patches


class _OnTheCpu(TorchFunctionMode):  # type: ignore[misc]
    """Whatever names CUDA as a device gets the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if "device" in kwargs:
            kwargs["device"] = _cpu(kwargs["device"])
        if func in (torch.Tensor.to, torch.nn.Module.to):
            args = tuple(_cpu(one) for one in args)
        return func(*args, **kwargs)


def _cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


@contextmanager
def cuda_on_cpu() -> Iterator[None]:
    """Let a program believe in a GPU: its tensors stay on the CPU, with CUDA's dtypes."""
    patches = Patches()
    patches.attribute(torch.nn.Module, "cuda", lambda module, device=None: module)
    for name, value in _CLAIMS.items():
        patches.attribute(torch.cuda, name, value)
    try:
        with cuda_autocast(), _OnTheCpu():
            yield
    finally:
        patches.undo()


_CLAIMS: dict[str, Any] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "set_device": lambda device: None,
    "synchronize": lambda device=None: None,
    "empty_cache": lambda: None,
    "is_bf16_supported": lambda including_emulation=True: True,
    "max_memory_allocated": lambda device=None: 0,
    "memory_allocated": lambda device=None: 0,
    "reset_peak_memory_stats": lambda device=None: None,
    "manual_seed": lambda seed: None,
    "manual_seed_all": lambda seed: None,
    "get_device_name": lambda device=None: "emulated",
}
