"""What torch's own AMP asks about a GPU, answered in the threads that emulate one as beside it.

Regions and scalers for CUDA switch themselves off without a GPU; so do those that torch opens by itself, for activation
checkpointing and `custom_bwd`. Checkpointing asks for the device of the tensors first, and `custom_fwd(cast_inputs=...)` casts
tensors of a GPU only. Other threads are answered as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.utils.checkpoint

from amplint.runtime.emulation.kernels import EMULATION
from amplint.runtime.emulation.region import forget_casts
from amplint.runtime.recording.patches import Patches


@contextmanager
def gpu_claimed() -> Iterator[None]:
    """Let torch's AMP find a GPU that computes in bfloat16, wherever a thread passes the key of the emulation."""
    patches = Patches()
    try:
        for owner, name, around in (
            (torch.cuda.amp.common, "amp_definitely_not_available", _not_available),
            (torch.cuda, "is_bf16_supported", _is_bf16_supported),
            (torch.amp.autocast_mode, "_cast", _cast),
            (torch.utils.checkpoint, "_infer_device_type", _infer_device_type),
            (torch, "clear_autocast_cache", _clear),
        ):
            if hasattr(owner, name):  # some are torch's own affair, and not there in every version
                patches.attribute(owner, name, _where_emulated(getattr(owner, name), around))
        yield
    finally:
        patches.undo()


def _where_emulated(original: Callable[..., Any], around: Callable[..., Any]) -> Callable[..., Any]:
    def asked(*args: Any, **kwargs: Any) -> Any:
        if torch._C._dispatch_tls_is_dispatch_key_included(EMULATION):
            return around(original, *args, **kwargs)
        return original(*args, **kwargs)

    return asked


def _not_available(original: Callable[..., Any]) -> bool:
    return False


def _is_bf16_supported(original: Callable[..., Any], including_emulation: bool = True) -> bool:
    return True


def _cast(original: Callable[..., Any], value: Any, device_type: str, dtype: torch.dtype) -> Any:
    """Casts the tensors of the device in a value, to whatever depth: in an emulating thread, those of a CPU are meant."""
    return original(value, "cpu" if device_type == "cuda" else device_type, dtype)


def _infer_device_type(original: Callable[..., Any], *values: Any) -> str:
    """The device whose region a recomputation enters anew."""
    found: str = original(*values)
    return "cuda" if found == "cpu" else found


def _clear(original: Callable[..., Any]) -> None:
    forget_casts()
    original()
