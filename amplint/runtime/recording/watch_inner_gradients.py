"""Gradients that become part of a loss: whether the program divides them by the loss scale."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import torch

from amplint.model.events import InnerGrad
from amplint.runtime.recording.event_log import Recorded
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import scalar_value
from amplint.runtime.recording.watcher import Arguments, Called, Named, Watch, given_argument

_ARITHMETIC = ("div", "div_", "mul", "mul_", "__truediv__", "__mul__", "__rmul__")


class Divisions:
    """Watches arithmetic on inner gradients, from the first of them on: other programs are not slowed down by it.

    Args:
        watch: the recording.
        patches: puts back what is replaced.
    """

    def __init__(self, watch: Watch, patches: Patches) -> None:
        self._watch = watch
        self._patches = patches
        self._awaited: list[tuple[weakref.ref[torch.Tensor], Recorded]] = []
        self._watches = False

    def await_on(self, gradients: list[torch.Tensor], recorded: Recorded) -> None:
        """Take note, in the event that was recorded, if one of these gradients is divided by a scale later.

        Args:
            gradients: what `torch.autograd.grad` gave.
            recorded: the event of that call.
        """
        if not self._watches:
            self._watches = True
            for name in _ARITHMETIC:
                self._patches.method(torch.Tensor, name, self._arithmetic)
        alive = [(reference, of) for reference, of in self._awaited if reference() is not None]
        self._awaited = [*alive, *((weakref.ref(each), recorded) for each in gradients)]

    def _arithmetic(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        recorded = next((of for reference, of in self._awaited if reference() is args[0]), None)
        if recorded is not None and self._is_scale(given_argument(args, kwargs, 1, "other")):
            assert isinstance(recorded.event, InnerGrad)
            recorded.event = replace(recorded.event, divided=True)
        return original(*args, **kwargs)

    def _is_scale(self, factor: Any) -> bool:
        """Whether a factor or divisor is a scale, or its inverse."""
        value = scalar_value(factor) if isinstance(factor, torch.Tensor) else factor
        return any(value in (scale, 1.0 / scale) for scale in self._watch.scales.values() if scale)
