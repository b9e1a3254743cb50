"""Which call of a step has made a tensor, as long as that tensor lives."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from amplint.tracing.taped_call import Made, TapedCall, version_of

_AT_ONCE = 500
"""Tensors without gradients of which it is known at one time: each keeps what it was made from."""


class _Known(NamedTuple):
    tensor: weakref.ref[torch.Tensor]
    made: Made
    version: int


class Makers:
    """Knows it of the tensors that were noted."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def of(self, tensor: torch.Tensor) -> Made | None:
        """What stands for a tensor; None for one that no call has made, or that was changed since, without gradients."""
        known = self._known.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            return None
        is_same = known.made.call.leads_to_gradients or known.version == version_of(tensor)
        return known.made if is_same else None

    def knows(self, values: Any) -> bool:
        """Whether one of the arguments of a call was noted."""
        return any(
            id(one) in self._known or (isinstance(one, (list, tuple)) and any(id(each) in self._known for each in one))
            for one in values
        )

    def has_room(self) -> bool:
        """Whether another tensor without gradients may be noted."""
        return len(self._known) < _AT_ONCE

    def note(self, call: TapedCall, result: Any) -> None:
        """A call has given tensors.

        Args:
            call: the call.
            result: what it gave.
        """
        for position, one in enumerate(tree_leaves(result)):
            if isinstance(one, torch.Tensor):
                key = id(one)
                reference = weakref.ref(one, partial(self._forget, key))
                self._known[key] = _Known(reference, Made(call, position), version_of(one))

    def clear(self) -> None:
        """A step is over."""
        self._known = {}

    def _forget(self, key: int, gone: weakref.ref[torch.Tensor]) -> None:
        known = self._known.get(key)
        if known is not None and known.tensor is gone:
            del self._known[key]
