"""Every operation, forward and backward: the first that makes inf or NaN out of finite operands.

Each result is asked whether it is finite, and waited for: this is the costly look. Values that a program means to be infinite
(`masked_fill(mask, -inf)`, `full(..., inf)`) are left out; they come back into question where something makes NaN of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from amplint.tracing.explanations import why_not_finite
from amplint.tracing.module_ranges import ModuleWatch
from amplint.tracing.trace_record import FirstNonFinite, TensorRange
from amplint.tracing.underflow import UnderflowTally
from amplint.tracing.whereabouts import Spot, Whereabouts

_UNWRITTEN = ("empty", "new_empty", "resize", "set_")
"""Operations that give memory which nobody has written to."""


class OperationWatch(TorchDispatchMode):  # type: ignore[misc]
    """Looks at the result of every operation until one has made something that is not finite.

    Args:
        modules: says which module is running.
        whereabouts: says where an operation belongs.
        on_found: called with what was found, once for each step that `look` has begun.
    """

    def __init__(
        self, modules: ModuleWatch, whereabouts: Whereabouts, on_found: Callable[[FirstNonFinite], None]
    ) -> None:
        super().__init__()
        self._modules, self._whereabouts, self._on_found = modules, whereabouts, on_found
        self.underflow = UnderflowTally()
        self._looking = True

    def look(self) -> None:
        """Look for the next one; until then nothing more is asked after a find."""
        self._looking = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and look at what it gives."""
        kwargs = kwargs or {}
        args = as_given(func, args)
        if not self._looking:
            return func(*args, **kwargs)
        spot = self._whereabouts.now()
        kept = tree_map_only(torch.Tensor, torch.clone, args) if func._schema.is_mutable else args
        result = func(*args, **kwargs)
        self._judge(spot, func, kept, kwargs, result)
        if spot.backward:
            path, _ = self._modules.named(spot.running)
            self.underflow.add((path, str(spot.place or "?")), func, kept, kwargs, result)
        return result

    def _judge(self, spot: Spot, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        operation = func.overloadpacket.__name__
        if operation.startswith(_UNWRITTEN) or all(map(is_finite, _floats(result))):
            return
        before = _ranges_of("operand", args)
        if not before or any(math.isnan(one.largest) for one in before):
            return
        infinite = not all(one.finite for one in before)
        if any(isinstance(one, float) and not abs(one) < float("inf") for one in tree_leaves((args, kwargs))):
            return  # what was asked for
        for made in _floats(result):
            if bool(torch.isnan(made).any()) if infinite else not bool(torch.isfinite(made).all()):
                self._looking = False
                path, kind = self._modules.named(spot.running)
                reason = why_not_finite(operation.rstrip("_"), func, args, kwargs, made)
                self._on_found(
                    FirstNonFinite(
                        0, spot.backward, path, kind, str(spot.place or "?"), operation, tuple(before), range_of("result", made),
                        reason.why, reason.rule,
                    )
                )  # fmt: skip
                return


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all of a tensor is finite, in one pass; waits for the device."""
    if not tensor.numel() or tensor.layout != torch.strided:
        return bool(torch.isfinite(tensor).all())
    low, high = torch.aminmax(tensor.detach())
    return math.isfinite(float(low)) and math.isfinite(float(high))


def as_given(func: Any, args: Any) -> Any:
    """The arguments of an operation; a number that torch keeps as a tensor comes as a number, and is made a tensor again.

    Args:
        func: the operation.
        args: what it was given by position.
    """
    if args and isinstance(args[0], (bool, int, float)) and str(func._schema.arguments[0].type) == "Tensor":
        return torch.tensor(args[0]), *args[1:]
    return args


def range_of(name: str, tensor: torch.Tensor) -> TensorRange:
    """A tensor in a few words; waits for the device.

    Args:
        name: what it is to the operation.
        tensor: the tensor.
    """
    detached = tensor.detach()
    largest = float(detached.abs().max()) if detached.numel() else 0.0
    finite = bool(torch.isfinite(detached).all())
    return TensorRange(name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), largest, finite)


def _ranges_of(name: str, values: Any) -> list[TensorRange]:
    return [range_of(f"{name} {number}", one) for number, one in enumerate(_floats(values), 1)]


def _floats(values: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor) and one.is_floating_point()]
