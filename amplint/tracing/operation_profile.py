"""What one step spends its time on: operations by module and dtype, casts, and what stays in float32 inside a region."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from amplint.model.torch.operators import Policy, policy
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.tracing.module_ranges import ModuleWatch
from amplint.tracing.operations import as_given
from amplint.tracing.step_profile import CastTime, Fallback, OperationTime, StepProfile
from amplint.tracing.whereabouts import Spot, Whereabouts

_CAST = "_to_copy"
_INNER = re.compile(r"^_*(?:native_|cudnn_|mkldnn_|thnn_)*|_legit.*$|_impl_index$|_default$")
"""What torch's inner names have more than those of its functions."""


class OperationProfile(TorchDispatchMode):  # type: ignore[misc]
    """Measures every operation; waits for the device after each.

    Args:
        modules: says which module is running.
        whereabouts: says where an operation belongs.
    """

    def __init__(self, modules: ModuleWatch, whereabouts: Whereabouts) -> None:
        super().__init__()
        self._modules, self._whereabouts = modules, whereabouts
        self._operations: dict[tuple[str, str, str, str, bool], tuple[int, float]] = {}
        self._casts: dict[tuple[str, str, str], tuple[int, int, float]] = {}
        self._kept_wide: dict[tuple[str, str, str], float] = {}
        self._cast_from: dict[int, tuple[StorageWeakRef, torch.dtype]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and note how long it took."""
        args = as_given(func, args)
        given = _floats((args, kwargs))
        spot = self._whereabouts.now()
        _wait(given)
        began = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        _wait(given)
        seconds = time.perf_counter() - began
        made = _floats(result)
        if given and made:
            name = func.overloadpacket.__name__
            if name == _CAST and given[0].dtype != made[0].dtype:
                self._note_cast(spot, given[0], made[0], seconds)
            elif name != _CAST:
                self._note(spot, name, made[0].dtype, seconds)
        return result

    def told(self, step: int, device: str) -> StepProfile:
        """What was seen; the slowest first.

        Args:
            step: the number of the step.
            device: `cuda` or `cpu`: whose autocast it was.
        """
        operations = [OperationTime(*key, *value) for key, value in self._operations.items()]
        casts = [CastTime(*key, *value) for key, value in self._casts.items()]
        wide: dict[tuple[str, str], list[tuple[str, float]]] = {}
        for (module, kind, name), seconds in self._kept_wide.items():
            wide.setdefault((module, kind), []).append((name, seconds))
        fallbacks = [
            Fallback(*where, _why(names, device), sum(seconds for _, seconds in names)) for where, names in wide.items()
        ]
        return StepProfile(step, _slowest(operations), _slowest(casts), _slowest(fallbacks))

    def _note(self, spot: Spot, name: str, dtype: torch.dtype, seconds: float) -> None:
        path, kind = self._modules.named(spot.running)
        key = (path, kind, name, dtype_name(dtype), spot.backward)
        calls, before = self._operations.get(key, (0, 0.0))
        self._operations[key] = calls + 1, before + seconds
        region = spot.running.region if spot.running is not None else None
        if dtype == torch.float32 and region in (torch.float16, torch.bfloat16) and not spot.backward:
            self._kept_wide[path, kind, name] = self._kept_wide.get((path, kind, name), 0.0) + seconds

    def _note_cast(self, spot: Spot, given: torch.Tensor, made: torch.Tensor, seconds: float) -> None:
        storage, before = self._cast_from.get(given.untyped_storage()._cdata, (None, None))
        undone = storage is not None and not storage.expired() and before == made.dtype
        cast_storage = made.untyped_storage()
        self._cast_from[cast_storage._cdata] = StorageWeakRef(cast_storage), given.dtype
        key = (self._modules.named(spot.running)[0], dtype_name(given.dtype), dtype_name(made.dtype))
        calls, undones, spent = self._casts.get(key, (0, 0, 0.0))
        self._casts[key] = calls + 1, undones + undone, spent + seconds


def _why(names: Iterable[tuple[str, float]], device: str) -> str:
    """Why a module computes in float32 inside a region, by its slowest operation, of those that autocast lists first."""
    listed = {Policy.FLOAT32: 0, Policy.FLOAT32_RESULT: 0, Policy.PROMOTE: 1, Policy.LOWER: 2}
    ranked = [(listed.get(found := _policy(name, device), 3), -seconds, name, found) for name, seconds in names]
    _, _, name, found = min(ranked, key=lambda one: one[:3])
    name = _INNER.sub("", name)
    match found:
        case Policy.FLOAT32 | Policy.FLOAT32_RESULT:
            return f"autocast computes `{name}` in float32"
        case Policy.PROMOTE:
            return f"`{name}` computes in the widest dtype of its operands, and one is float32"
        case Policy.LOWER:
            return f"autocast is off where `{name}` runs"
        case _:
            return f"`{name}` computes in the dtype that it is given, and was given float32"


def _policy(name: str, device: str) -> Policy:
    return policy(_INNER.sub("", name), device) or Policy.UNLISTED


def _slowest(rows: list[Any]) -> tuple[Any, ...]:
    return tuple(sorted(rows, key=lambda one: -one.seconds))


def _wait(tensors: list[torch.Tensor]) -> None:
    if tensors and tensors[0].is_cuda:
        torch.cuda.synchronize(tensors[0].device)


def _floats(values: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor) and one.is_floating_point()]
