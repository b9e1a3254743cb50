"""A CUDA autocast region that does not need CUDA, and the cache of the weights that are cast in one."""

from __future__ import annotations

import threading

import torch


class _Cache(threading.local):
    """The weights that were cast in the regions of this thread, by id."""

    def __init__(self) -> None:
        self.casts: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}


_cache = _Cache()


def region(dtype: torch.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> torch.autocast:
    """`torch.autocast("cuda", ...)`, on whatever torch finds: by itself it is off where there is no GPU.

    It sets this thread's autocast state for CUDA, so that `torch.is_autocast_enabled("cuda")`, and all that depends on it,
    answers as it does beside a GPU.

    Args:
        dtype: the region's precision; None means the one that is set around it.
        enabled: False takes the operations inside out of autocast.
        cache_enabled: whether a weight is cast once only; None means as around it.
    """
    made = torch.autocast("cuda", dtype=dtype, enabled=False, cache_enabled=cache_enabled)
    made._enabled = enabled  # torch's own constructor would warn and refuse
    return made


def region_dtype() -> torch.dtype:
    """The precision of the CUDA region that this thread is in."""
    return torch.get_autocast_dtype("cuda")


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A tensor in another precision. A weight in the region's precision is cast once, until the casts are forgotten.

    Which tensors are weights, and that one is found again after it has changed, are the rules of torch's own cache.

    Args:
        tensor: what an operation in the region is given.
        dtype: the precision.
    """
    if tensor.dtype is dtype:
        return tensor
    if not (dtype is region_dtype() and _is_weight(tensor)):
        return tensor.to(dtype)
    known = _cache.casts.get(id(tensor))
    if known is not None:
        return known[1]
    with torch.enable_grad():  # a first use under no_grad must not cut later uses off from their gradient
        narrow = tensor.to(dtype)
    _cache.casts[id(tensor)] = tensor, narrow  # keeps the tensor alive, so that its id stays its own
    return narrow


def forget_casts() -> None:
    """Forget the weights that were cast in this thread, as torch has its own cache forgotten where the outermost region ends."""
    _cache.casts = {}


def _is_weight(tensor: torch.Tensor) -> bool:
    return (
        tensor.dtype is torch.float32
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and torch.is_autocast_cache_enabled()
        and not torch.is_inference_mode_enabled()
    )
