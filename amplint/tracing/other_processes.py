"""A step of one process of several, run again while the others go on: none is waited for, and none hears of it.

What `DistributedDataParallel` does beside calling its module is left out: gradients are computed, not averaged, and its reducer
does not learn of the second forward pass. A step in which anything else would wait for another process is not run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from amplint.runtime.recording.patches import Patches

_COLLECTIVE = frozenset({"c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd"})
"""The namespaces of operations between processes."""
_REFUSAL = "other processes take part in it"


class CannotRunAgain(Exception):
    """A step cannot be run again; the message says why, and ends without a period."""


def refuse_shared(modules: Sequence[torch.nn.Module]) -> None:
    """Make sure that modules can be called in this process alone.

    Args:
        modules: all that are called.

    Raises:
        CannotRunAgain: other processes train them too, other than by `DistributedDataParallel`.
    """
    if not _are_several():
        return
    averaged = {id(each) for one in modules if _only_averages(one) for each in one.parameters()}
    if not all(id(each) in averaged for one in modules for each in one.parameters() if each.requires_grad):
        raise CannotRunAgain(_REFUSAL)


@contextmanager
def apart_from_others(parameters: Iterable[torch.Tensor]) -> Iterator[None]:
    """What runs inside runs in this process alone.

    Args:
        parameters: those of the program, which get no gradients inside: a reducer would hear of it.
    """
    if not _are_several():
        yield
        return
    patches = Patches()
    for each in parameters:
        if each.requires_grad and each.is_leaf:
            patches.on_undo(each.requires_grad_)
            each.requires_grad_(False)
    patches.attribute(torch.nn.parallel.DistributedDataParallel, "forward", _forward_alone)
    try:
        with _NoCollectives():
            yield
    finally:
        patches.undo()


class _NoCollectives(TorchDispatchMode):  # type: ignore[misc]
    """Refuses what would wait for another process."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in _COLLECTIVE:
            raise CannotRunAgain(_REFUSAL)
        return func(*args, **(kwargs or {}))


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
