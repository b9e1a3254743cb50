"""A step of one process of several, run again while the others go on: none is waited for, and none hears of it.

What `DistributedDataParallel` does beside calling its module is left out: gradients are computed, not averaged, and its reducer
does not learn of the second forward pass. A step in which anything else would wait for another process is not run again, and one
that takes long is given up: the others wait for the gradients of this process, and not for ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from amplint.runtime.recording.patches import Patches

_COLLECTIVE = frozenset({"c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd"})
"""The namespaces of operations between processes."""
_STORE = ("add", "append", "check", "compare_set", "delete_key", "get", "multi_get", "multi_set", "set", "wait")
"""What processes do with the store that they share."""
_REFUSAL = "other processes take part in it"
_PATIENCE = 60.0
"""Seconds that a step may take while other processes wait; less where they give up earlier."""
_PART = 0.25
"""Of the time after which a process gives up waiting for another: a step may be run again twice."""


class CannotRunAgain(Exception):
    """A step cannot be run again; the message says why, and ends without a period."""


def refuse_shared(modules: Sequence[torch.nn.Module]) -> None:
    """Make sure that modules can be called in this process alone.

    Args:
        modules: all that are called.

    Raises:
        CannotRunAgain: other processes train them too, other than by `DistributedDataParallel`, or call each other.
    """
    if not _are_several():
        return
    if torch.distributed.rpc.is_available() and torch.distributed.rpc.api._is_current_rpc_agent_set():
        raise CannotRunAgain(_REFUSAL)
    averaged = {id(each) for one in modules if _only_averages(one) for each in one.parameters()}
    if not all(id(each) in averaged for one in modules for each in one.parameters() if each.requires_grad):
        raise CannotRunAgain(_REFUSAL)


@contextmanager
def apart_from_others(parameters: Iterable[torch.Tensor]) -> Iterator[None]:
    """What runs inside runs in this process alone.

    Args:
        parameters: those of the program, which get no gradients inside: a reducer would hear of it.

    Raises:
        CannotRunAgain: another process would have to take part, or waits for too long.
    """
    if not _are_several():
        yield
        return
    patches = Patches()
    try:
        for each in parameters:
            if each.requires_grad and each.is_leaf:
                patches.on_undo(each.requires_grad_)
                each.requires_grad_(False)
        patches.attribute(torch.nn.parallel.DistributedDataParallel, "forward", _forward_alone)
        _refuse_beside_operations(patches)
        with _Alone(_patience()):
            yield
    finally:
        patches.undo()


class _Alone(TorchDispatchMode):  # type: ignore[misc]
    """Refuses operations that would wait for another process, and all of them once that has waited for too long.

    Args:
        patience: how many seconds the other process waits.
    """

    def __init__(self, patience: float) -> None:
        super().__init__()
        self._patience, self._end = patience, time.monotonic() + patience

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in _COLLECTIVE:
            raise CannotRunAgain(_REFUSAL)
        if time.monotonic() > self._end:
            raise CannotRunAgain(f"it takes more than {self._patience:g} s, and other processes wait for it")
        return func(*args, **(kwargs or {}))


def _refuse_beside_operations(patches: Patches) -> None:
    """Refuse what waits for other processes, or begins to, and is no operation of torch's."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise CannotRunAgain(_REFUSAL)

    for name in _STORE:
        if hasattr(torch.distributed.Store, name):
            patches.attribute(torch.distributed.Store, name, refuse)
    patches.attribute(torch.distributed.ProcessGroup, "_start_coalescing", refuse)
    patches.function((torch.distributed, torch.distributed.distributed_c10d), "new_group", refuse, "apart")


def _patience() -> float:
    """Seconds that a step may take."""
    group, seconds = torch.distributed.group.WORLD, _PATIENCE
    for device in group._device_types:
        with suppress(AttributeError, RuntimeError):  # backends of others may not tell
            seconds = min(seconds, _PART * group._get_backend(device).options._timeout.total_seconds())
    return seconds


def _are_several() -> bool:
    distributed = torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1)


def _only_averages(module: torch.nn.Module) -> bool:
    """Whether a module calls another one, and nothing but averages of gradients and buffers comes from other processes."""
    ddp = torch.nn.parallel.DistributedDataParallel
    return isinstance(module, ddp) and type(module).forward is ddp.forward and module.mixed_precision is None


def _forward_alone(module: torch.nn.parallel.DistributedDataParallel, /, *args: Any, **kwargs: Any) -> Any:
    if module.device_ids:
        (args, *_), (kwargs, *_) = module.to_kwargs(args, kwargs, module.device_ids[0])
    return module.module(*args, **kwargs)
