"""A CUDA autocast region that does not need CUDA, and its cache of cast weights."""

from __future__ import annotations

import threading
from types import TracebackType

import torch


class _State(threading.local):
    """How many regions this thread is in, and the weights that were cast there, by id."""

    def __init__(self) -> None:
        self.depth = 0
        self.casts: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}


_state = _State()


class EmulatedRegion(torch.autocast):
    """`torch.autocast("cuda", ...)`, which switches itself off where there is no GPU; this one does not.

    It sets this thread's autocast state for CUDA, so that `torch.is_autocast_enabled("cuda")`, and all that depends on it,
    answers as it does beside a GPU.

    Args:
        dtype: the region's precision; None means the one that is set around it.
        enabled: False takes the operations inside out of autocast.
        cache_enabled: whether a weight is cast once only; None means as around it.
    """

    def __init__(
        self, dtype: torch.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        super().__init__("cuda", dtype=dtype, enabled=False, cache_enabled=cache_enabled)
        self._enabled = enabled  # torch's own constructor would warn and refuse

    def __enter__(self) -> EmulatedRegion:
        super().__enter__()
        _state.depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _state.depth -= 1
        if not _state.depth:
            _state.casts = {}
        super().__exit__(kind, error, trace)


def region_dtype() -> torch.dtype:
    """The precision of the CUDA region that this thread is in."""
    return torch.get_autocast_dtype("cuda")


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A tensor in another precision. A weight in the region's precision is cast once until the outermost region ends.

    Which tensors are weights, and that one is found again after it has changed, are the rules of torch's own cache.

    Args:
        tensor: what an operation in the region is given.
        dtype: the precision.
    """
    if tensor.dtype is dtype:
        return tensor
    if not (_state.depth and dtype is region_dtype() and _is_weight(tensor)):
        return tensor.to(dtype)
    known = _state.casts.get(id(tensor))
    if known is not None:
        return known[1]
    with torch.enable_grad():  # a first use under no_grad must not cut later uses off from their gradient
        narrow = tensor.to(dtype)
    _state.casts[id(tensor)] = tensor, narrow  # keeps the tensor alive, so that its id stays its own
    return narrow


def _is_weight(tensor: torch.Tensor) -> bool:
    return (
        tensor.dtype is torch.float32
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and torch.is_autocast_cache_enabled()
        and not torch.is_inference_mode_enabled()
    )
