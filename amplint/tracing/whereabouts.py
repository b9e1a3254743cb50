"""Where in the program an operation belongs, also one of the backward pass: the line and the module of the forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.tracing.module_ranges import ModuleWatch, Running

_KEY = "amplint trace"


class Lines(TorchFunctionMode):  # type: ignore[misc]
    """Notes with each node of the autograd graph which line of the program, and which module, has made it.

    Args:
        modules: says which module is running.
        locate: says which line is running.
    """

    def __init__(self, modules: ModuleWatch, locate: Callable[[], SourceLine | None] = caller) -> None:
        super().__init__()
        self._modules, self._locate = modules, locate

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make the call, and note where it stands."""
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, torch.Tensor) and one.grad_fn is not None:
                one.grad_fn.metadata.setdefault(_KEY, (self._locate(), self._modules.innermost()))
        return result


class Spot(NamedTuple):
    """Where an operation belongs; `running` is its module, as it ran in the forward pass."""

    backward: bool
    place: SourceLine | None
    running: Running | None


class Whereabouts:
    """Says where the operation belongs that is running.

    Args:
        modules: says which module is running.
        locate: says which line is running.
    """

    def __init__(self, modules: ModuleWatch, locate: Callable[[], SourceLine | None] = caller) -> None:
        self._modules, self._locate = modules, locate
        self._last: tuple[SourceLine | None, Running | None] = (None, None)

    def now(self) -> Spot:
        """Of the operation that is running. Nodes of which nothing is known belong to their neighbours."""
        node = torch._C._current_autograd_node()
        if node is None:
            return Spot(False, self._locate(), self._modules.innermost())
        self._last = node.metadata.get(_KEY, self._last)
        place, running = self._last
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            place = self._locate()  # the backward pass is the program's own
        return Spot(True, place, running)
