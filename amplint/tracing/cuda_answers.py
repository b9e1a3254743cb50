"""What `torch.cuda` and `torch.accelerator` answer a script whose GPU is emulated.

The GPU that is claimed is one that has bfloat16. It has no memory of its own, and no streams: all is done in turn.
"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch


class _Stream:
    """A stream of a GPU on which everything is over as soon as it is asked for."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = torch.device("cuda", 0)

    def synchronize(self) -> None:
        """Nothing is waited for."""

    def query(self) -> bool:
        """Everything is over."""
        return True

    def wait_stream(self, stream: _Stream) -> None:
        """Nothing is waited for."""

    def wait_event(self, event: _Event) -> None:
        """Nothing is waited for."""

    def record_event(self, event: _Event | None = None) -> _Event:
        """An event that is now."""
        event = event or _Event()
        event.record(self)
        return event


class _Event:
    """An event of a GPU: a time of the processor's clock."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._at = 0.0

    def record(self, stream: _Stream | None = None) -> None:
        """It is now."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing is waited for."""

    def wait(self, stream: _Stream | None = None) -> None:
        """Nothing is waited for."""

    def query(self) -> bool:
        """It is over."""
        return True

    def elapsed_time(self, end: _Event) -> float:
        """Milliseconds between two events.

        Args:
            end: the later one.
        """
        return 1000 * (end._at - self._at)


_STREAM = _Stream()
_MEMORY = 16 * 2**30
_PROPERTIES = SimpleNamespace(
    name="emulated", major=8, minor=0, total_memory=_MEMORY, multi_processor_count=1, is_integrated=False
)


def _devices() -> int:
    """One for each process that a launcher has started here."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _answers(names: str, value: Any) -> dict[str, Any]:
    """A function for each name: torch's compiler has a rule for each, and does not find two in one function."""
    return {name: lambda *args, **kwargs: value for name in names.split()}


_NOTHING = (
    "set_device synchronize empty_cache ipc_collect reset_peak_memory_stats reset_max_memory_allocated set_rng_state "
    "set_rng_state_all manual_seed manual_seed_all seed seed_all init set_per_process_memory_fraction set_stream"
)
_ZERO = (
    "current_device max_memory_allocated memory_allocated max_memory_reserved memory_reserved max_memory_cached memory_cached "
    "_exchange_device _maybe_exchange_device"
)
CUDA: dict[str, Any] = {
    **_answers(_NOTHING, None),
    **_answers(_ZERO, 0),
    "is_available": lambda: True,
    "device_count": _devices,
    "is_bf16_supported": lambda including_emulation=True: True,
    "get_device_name": lambda device=None: _PROPERTIES.name,
    "get_device_capability": lambda device=None: (_PROPERTIES.major, _PROPERTIES.minor),
    "get_device_properties": lambda device=None: _PROPERTIES,
    "mem_get_info": lambda device=None: (_MEMORY, _MEMORY),
    "memory_stats": lambda device=None: {},
    "memory_summary": lambda device=None, abbreviated=False: "",
    "get_rng_state": lambda device="cuda": torch.empty(0, dtype=torch.uint8),
    "get_rng_state_all": lambda: [torch.empty(0, dtype=torch.uint8)],
    "Stream": _Stream,
    "Event": _Event,
    "stream": lambda stream: nullcontext(),
    "current_stream": lambda device=None: _STREAM,
    "default_stream": lambda device=None: _STREAM,
}
"""By the name in `torch.cuda`."""

ACCELERATOR: dict[str, Any] = {
    "is_available": lambda: True,
    "device_count": lambda: _devices(),
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_stream": lambda device=None: _STREAM,
    **_answers("current_device_index current_device_idx", 0),
    **_answers("set_device_index set_device_idx synchronize", None),
}
"""By the name in `torch.accelerator`, for scripts: torch's own code, which would use it, gets torch's own answer."""
