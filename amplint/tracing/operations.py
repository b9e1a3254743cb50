"""Every operation, forward and backward: where the values came up that made the loss, or a gradient, inf or NaN.

Each result is asked whether it is finite, and waited for: this is the costly look. What is not finite is followed from the
operation that made it out of finite operands through all that is computed from it, so that an infinity that goes away (a mask
that overflows before a softmax) is not taken for the cause. Values that a program means to be infinite
(`masked_fill(mask, -inf)`, `full(..., inf)`) come into question where something makes NaN of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.tracing.explanations import why_not_finite
from amplint.tracing.module_path import way_of
from amplint.tracing.module_ranges import ModuleWatch
from amplint.tracing.trace_record import FirstNonFinite, TensorRange
from amplint.tracing.underflow import UnderflowTally
from amplint.tracing.whereabouts import Spot, Whereabouts

_UNWRITTEN = ("empty", "new_empty", "resize", "set_")
"""Operations that give memory which nobody has written to."""
_MOVES = frozenset(
    "_to_copy alias as_strided cat clone copy copy_ detach expand gather index index_select lift_fresh permute reshape select "
    "slice split split_with_sizes squeeze stack t transpose unbind unsqueeze view _unsafe_view".split()
)
"""Operations that pass on what they are given: it is asked where it comes from where something is computed from it."""
_BATCH_NORMS = frozenset({"native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"})
"""Operations whose fourth and fifth argument, the averages, are only written to where the sixth says that they train."""
_OVERWRITES = frozenset({"copy_", "fill_"})
"""Operations that write over all of their first argument without reading it: fresh memory may hold a NaN of long ago."""


class _Origin(NamedTuple):
    """Where a tensor's values come from: `number` counts origins; `is_foreign` says that an infinity came from outside."""

    storage: StorageWeakRef
    number: int
    found: FirstNonFinite
    is_foreign: bool


class _Call(NamedTuple):
    """An operation that has run: `given` are its operands, `before` the same as they were before it ran."""

    spot: Spot
    func: Any
    args: Any
    kwargs: dict[str, Any]
    given: Sequence[torch.Tensor]
    before: Sequence[torch.Tensor]


class OperationWatch(TorchDispatchMode):  # type: ignore[misc]
    """Looks at the result of every operation.

    Attributes:
        losses: what was propagated since `forget`; `install` has it noted.

    Args:
        modules: says which module is running.
        whereabouts: says where an operation belongs.
    """

    def __init__(self, modules: ModuleWatch, whereabouts: Whereabouts) -> None:
        super().__init__()
        self._modules, self._whereabouts = modules, whereabouts
        self.underflow = UnderflowTally()
        self.losses: list[torch.Tensor] = []
        self._origins: dict[int, _Origin] = {}
        self._count = 0

    def install(self, patches: Patches) -> None:
        """Note what a program propagates; `patches` takes it back."""
        patches.function((torch.autograd,), "backward", self._propagated, "losses")

    def origin_of(self, gradients: Iterable[torch.Tensor]) -> FirstNonFinite | None:
        """Where the first value came up that has made a loss, or else gradients, inf or NaN; None where that was not seen.

        Args:
            gradients: what came of the losses.
        """
        for tensors in (self.losses, gradients):
            known = [found for one in tensors if not is_finite(one) and (found := self._origin(one)) is not None]
            if known:
                return min(known, key=lambda one: one.number).found
        return None

    def forget(self) -> None:
        """Let go of losses, and of tensors that are gone."""
        self.losses = []
        self._origins = {key: one for key, one in self._origins.items() if not one.storage.expired()}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and look at what it gives."""
        kwargs = kwargs or {}
        args = as_given(func, args)
        spot = self._whereabouts.now()
        read = _as_read(func, args)
        kept = tree_map_only(torch.Tensor, torch.clone, read) if func._schema.is_mutable else read
        result = func(*args, **kwargs)
        if not func.overloadpacket.__name__.startswith(_UNWRITTEN):
            made = [one for one in _floats(args if result is None else result) if not is_finite(one)]
            if made:
                self._judge(_Call(spot, func, kept, kwargs, _floats(read), _floats(kept)), made)
        if spot.backward:
            path, _ = self._modules.named(spot.running)
            self.underflow.add((path, str(spot.place or "?")), func, kept, kwargs, result)
        return result

    def _propagated(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        roots = tree_leaves((args[:1], kwargs.get("tensors")))
        self.losses += [one.detach() for one in roots if isinstance(one, torch.Tensor)]
        return original(*args, **kwargs)

    def _judge(self, call: _Call, made: Sequence[torch.Tensor]) -> None:
        """Find out where a result comes from that is not finite, and note it."""
        nan = any(map(_has_nan, made))
        bad = [
            (_has_nan(before), self._origin(one))
            for one, before in zip(call.given, call.before)
            if not is_finite(before)
        ]
        known = [
            origin for was_nan, origin in bad if origin is not None and (was_nan or not origin.is_foreign or not nan)
        ]
        strange = nan and any(was_nan and origin is None for was_nan, origin in bad)
        is_foreign = False
        if known and not strange:
            number, found, is_foreign = min(known, key=lambda one: (one.is_foreign, one.number))[1:]
        elif not call.given or (not bad and not nan and _was_asked(call)) or (bad and _name(call.func) in _MOVES):
            return
        else:
            self._count += 1
            number, found, is_foreign = self._count, self._arisen(call, made), bool(bad) and not nan
        for one in made:
            if one.layout == torch.strided:
                storage = one.untyped_storage()
                self._origins[storage._cdata] = _Origin(StorageWeakRef(storage), number, found, is_foreign)

    def _arisen(self, call: _Call, made: Sequence[torch.Tensor]) -> FirstNonFinite:
        worst = next(filter(_has_nan, made), made[0])
        path, kind = self._modules.named(call.spot.running)
        labels = [self._modules.names.of(one) for one in call.given]
        reason = why_not_finite(_name(call.func), call.func, call.args, call.kwargs, worst, labels)
        return FirstNonFinite(
            0, call.spot.backward, path, kind, str(call.spot.place or "?"), call.func.overloadpacket.__name__,
            tuple(range_of(name or f"operand {number}", one) for number, (name, one) in enumerate(zip(labels, call.before), 1)),
            range_of("result", worst), reason.why, reason.rule, way_of(self._modules.lately()),
        )  # fmt: skip

    def _origin(self, tensor: torch.Tensor) -> _Origin | None:
        if tensor.layout != torch.strided:
            return None
        found = self._origins.get(tensor.untyped_storage()._cdata)
        return None if found is None or found.storage.expired() else found


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all of a tensor is finite, in one pass; waits for the device."""
    if not tensor.numel() or tensor.layout != torch.strided or tensor.is_complex():
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


def _as_read(func: Any, args: Any) -> Any:
    """The arguments of an operation without the values of those that it writes to and does not read."""
    if func.overloadpacket.__name__ in _OVERWRITES:
        return (torch.zeros_like(args[0]), *args[1:])
    if func.overloadpacket.__name__ in _BATCH_NORMS and args[5]:
        return (*args[:3], None, None, *args[5:])
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
    return TensorRange(name, dtype_name(tensor.dtype), tuple(tensor.shape), largest, finite)


def _name(func: Any) -> str:
    name: str = func.overloadpacket.__name__
    return name.rstrip("_")


def _was_asked(call: _Call) -> bool:
    """Whether an operation was given an infinite number, but for a factor (`alpha`): such a sum is no mask."""
    return any(isinstance(one, float) and math.isinf(one) for one in tree_leaves(call.args))


def _has_nan(tensor: torch.Tensor) -> bool:
    return bool(torch.isnan(tensor).any())


def _floats(values: Any) -> list[torch.Tensor]:
    return [
        one
        for one in tree_leaves(values)
        if isinstance(one, torch.Tensor) and (one.is_floating_point() or one.is_complex()) and one.device.type != "meta"
    ]
