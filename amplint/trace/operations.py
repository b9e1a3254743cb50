"""Every operation, forward and backward: the first that makes inf or NaN out of finite operands.

Each result is asked whether it is finite, and waited for: this is the costly look. Values that a program means to be infinite
(`masked_fill(mask, -inf)`, `full(..., inf)`) are left out; they come back into question where something makes NaN of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.trace.explanations import why_not_finite
from amplint.trace.module_ranges import ModuleWatch
from amplint.trace.trace_record import FirstNonFinite, TensorRange
from amplint.trace.underflow import UnderflowTally

_KEY = "amplint trace"
_UNWRITTEN = ("empty", "new_empty", "resize", "set_")
"""Operations that give memory which nobody has written to."""


class Lines(TorchFunctionMode):  # type: ignore[misc]
    """Notes with each node of the autograd graph which line of the program, and which module, has made it."""

    def __init__(self, modules: ModuleWatch) -> None:
        super().__init__()
        self._modules = modules

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make the call, and note where it stands."""
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, torch.Tensor) and one.grad_fn is not None:
                one.grad_fn.metadata.setdefault(_KEY, (caller(), tuple(self._modules.stack[-1:])))
        return result


class OperationWatch(TorchDispatchMode):  # type: ignore[misc]
    """Looks at the result of every operation until one has made something that is not finite.

    Args:
        modules: says which module is running.
        on_found: called with what was found, once for each step that `look` has begun.
    """

    def __init__(self, modules: ModuleWatch, on_found: Callable[[FirstNonFinite], None]) -> None:
        super().__init__()
        self._modules, self._on_found = modules, on_found
        self.underflow = UnderflowTally()
        self._looking = True
        self._last: tuple[SourceLine | None, tuple[torch.nn.Module, ...]] = (None, ())

    def look(self) -> None:
        """Look for the next one; until then nothing more is asked after a find."""
        self._looking = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and look at what it gives."""
        kwargs = kwargs or {}
        if args and isinstance(args[0], (bool, int, float)) and str(func._schema.arguments[0].type) == "Tensor":
            args = (torch.tensor(args[0]), *args[1:])  # a number that torch keeps as a tensor comes as a number again
        if not self._looking:
            return func(*args, **kwargs)
        self._follow_backward()
        before = _ranges_of("operand", args)
        kept = tree_map_only(torch.Tensor, torch.clone, args) if func._schema.is_mutable else args
        result = func(*args, **kwargs)
        self._judge(func, kept, kwargs, before, result)
        if torch._C._current_autograd_node() is not None:
            _, place, module = self._whereabouts()
            self.underflow.add(
                ("" if module is None else self._modules.path(module), str(place or "?")), func, kept, kwargs, result
            )
        return result

    def _judge(self, func: Any, args: Any, kwargs: dict[str, Any], before: Sequence[TensorRange], result: Any) -> None:
        operation = func.overloadpacket.__name__
        if operation.startswith(_UNWRITTEN) or not before or any(math.isnan(one.largest) for one in before):
            return
        infinite = not all(one.finite for one in before)
        if any(isinstance(one, float) and not abs(one) < float("inf") for one in tree_leaves((args, kwargs))):
            return  # what was asked for
        for made in _floats(result):
            if bool(torch.isnan(made).any()) if infinite else not bool(torch.isfinite(made).all()):
                self._looking = False
                backward, place, module = self._whereabouts()
                path, kind = ("", "") if module is None else (self._modules.path(module), type(module).__name__)
                reason = why_not_finite(operation.rstrip("_"), func, args, kwargs, made)
                self._on_found(
                    FirstNonFinite(
                        0, backward, path, kind, str(place or "?"), operation, tuple(before), range_of("result", made),
                        reason.why, reason.rule,
                    )
                )  # fmt: skip
                return

    def _whereabouts(self) -> tuple[bool, SourceLine | None, torch.nn.Module | None]:
        """Whether a backward pass is running, the program's line, and the innermost module: of the forward pass, for both."""
        node = torch._C._current_autograd_node()
        place, modules = (caller(), tuple(self._modules.stack[-1:])) if node is None else self._last
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            place = caller()  # the backward pass is the program's own
        return node is not None, place, modules[-1] if modules else None

    def _follow_backward(self) -> None:
        """Keep the latest node of a backward pass of which it is known where it was made: its neighbours belong to it."""
        node = torch._C._current_autograd_node()
        if node is not None:
            self._last = node.metadata.get(_KEY, self._last)


def range_of(name: str, tensor: torch.Tensor) -> TensorRange:
    """A tensor in a few words; waits for the device."""
    detached = tensor.detach()
    largest = float(detached.abs().max()) if detached.numel() else 0.0
    finite = bool(torch.isfinite(detached).all())
    return TensorRange(name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), largest, finite)


def _ranges_of(name: str, values: Any) -> list[TensorRange]:
    return [range_of(f"{name} {number}", one) for number, one in enumerate(_floats(values), 1)]


def _floats(values: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor) and one.is_floating_point()]
