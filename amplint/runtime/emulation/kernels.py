"""Kernels of one's own in front of torch's operations, for one thread and for a while.

An operation passes torch's dispatch keys from the highest to the lowest, and a key counts only in the threads that include
it. The autocast keys of devices for which stock torch has no kernels are spare: what stands on them is met by nobody until
a thread includes the key. They come before autograd, so what a kernel does there is recorded like any other operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

import torch
from torch.library import Library, fallthrough_kernel

EMULATION = "AutocastHPU"
"""The key on which CPU tensors meet CUDA's policies."""
WITNESS = "AutocastIPU"
"""The key on which operations are watched. It comes after `EMULATION`, and after CUDA's own autocast."""


@contextmanager
def kernels(key: str, table: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Let kernels stand on a key, by overload (`softmax.int`); an operation without one passes the key untouched.

    Args:
        key: the dispatch key, such as `AutocastCPU`.
        table: the kernels, by overload.
    """
    fallback, library = Library("_", "IMPL", key), Library("aten", "IMPL", key)
    try:
        fallback.fallback(fallthrough_kernel)
        for name, kernel in table.items():
            library.impl(name, kernel)
        yield
    finally:
        library._destroy()
        fallback._destroy()


@contextmanager
def included(key: str) -> Iterator[None]:
    """Let the operations of this thread pass a key."""
    was_included = torch._C._dispatch_tls_is_dispatch_key_included(key)
    was_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded(key)
    torch._C._dispatch_tls_set_dispatch_key_included(key, True)
    torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
    try:
        yield
    finally:
        torch._C._dispatch_tls_set_dispatch_key_excluded(key, was_excluded)
        torch._C._dispatch_tls_set_dispatch_key_included(key, was_included)


def below(key: str) -> AbstractContextManager[None]:
    """Let the operations of this thread go past a key: what a kernel calls does not meet the kernels of its own key."""
    guard: AbstractContextManager[None] = torch._C._ExcludeDispatchKeyGuard(_keys(key))  # entered at every operation
    return guard


@cache
def _keys(key: str) -> Any:
    """The set that holds one key."""
    return torch._C.DispatchKeySet(torch._C._dispatch_key_parse(key))


def overload(name: str) -> Any:
    """The operation of a name such as `softmax.int`."""
    packet, _, which = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), which or "default")


def overloads(name: str) -> list[str]:
    """All overloads of the operation to which an overload belongs, by name."""
    packet, _, _ = name.partition(".")
    which = getattr(torch.ops.aten, packet).overloads()
    return [packet if one == "default" else f"{packet}.{one}" for one in which]
