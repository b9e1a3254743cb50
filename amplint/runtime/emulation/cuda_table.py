"""What CUDA's autocast does to each operation, as the installed torch says it.

Autocast decides before the device is asked, so no GPU is needed. Each operation registered for CUDA autocast is called on
tensors that carry CUDA's dispatch keys and a dtype, but no data. A witness right behind autocast notes what arrives there
and ends the call, so neither sizes nor values have to make sense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from types import MappingProxyType
from typing import Any

import torch

from amplint.model.torch.operators import Policy
from amplint.runtime.emulation.kernels import WITNESS, included, kernels, overload, overloads
from amplint.runtime.emulation.region import region


class UnreadableTable(RuntimeError):
    """The installed torch treats an operation in a way that amplint does not know."""


@dataclass(frozen=True)
class Treatment:
    """What autocast does to one overload.

    Attributes:
        policy: what happens to the floating inputs.
        becomes: the overload, one with an explicit dtype, that is called in its place; empty for all but `norm`.
        refusal: the message of a banned operation.
    """

    policy: Policy
    becomes: str = ""
    refusal: str = ""


@lru_cache(maxsize=1)
def cuda_table() -> Mapping[str, Treatment]:
    """CUDA's autocast by overload (`softmax.int`), without the operations that exist on a GPU only.

    Raises:
        UnreadableTable: an operation is treated in an unknown way.
    """
    names = [name for name in registered_overloads() if runs_on_cpu(name)]
    with witnessed(names), region(torch.float16, cache_enabled=False):
        return MappingProxyType({name: _treatment(name) for name in names})


def registered_overloads() -> list[str]:
    """The overloads for which CUDA's autocast has a kernel."""
    names = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    return sorted(name.removeprefix("aten::") for name in names if name.startswith("aten::"))


def runs_on_cpu(name: str) -> bool:
    """Whether an overload can run on CPU tensors at all."""
    return bool(torch._C._dispatch_has_computed_kernel_for_dispatch_key(f"aten::{name}", "CPU"))


def _treatment(name: str) -> Treatment:
    half, single = torch.float16, torch.float32

    def arrives(*dtypes: torch.dtype) -> Arrival:
        return arrival(name, map(_OnCuda, cycle(dtypes)))

    try:
        narrow = arrives(half)
    except RuntimeError as refusal:
        with region(enabled=False):
            arrives(half)  # the call itself is in order: raises if it is not
        return Treatment(Policy.BANNED, refusal=str(refusal))
    if narrow.name != name:
        return Treatment(Policy.FLOAT32_RESULT, becomes=narrow.name)
    if narrow.explicit is single:
        return Treatment(Policy.FLOAT32_RESULT)
    if set(narrow.tensors) == {single}:
        return Treatment(Policy.FLOAT32)
    if set(arrives(single).tensors) == {half}:
        return Treatment(Policy.LOWER)
    if set(arrives(half, single).tensors) == {single}:
        return Treatment(Policy.PROMOTE)
    raise UnreadableTable(f"torch {torch.__version__}: what CUDA's autocast does to `{name}` is not known")


# -- asking ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrival:
    """A call as it arrives behind autocast.

    Attributes:
        name: the overload.
        tensors: the dtypes of its tensors, in order.
        explicit: its `dtype` argument.
    """

    name: str
    tensors: tuple[torch.dtype, ...]
    explicit: torch.dtype | None


class _Arrived(Exception):
    """Carries an arrival past everything that would run the operation."""

    def __init__(self, arrival: Arrival) -> None:
        super().__init__(arrival.name)
        self.arrival = arrival


@contextmanager
def witnessed(names: Iterable[str]) -> Iterator[None]:
    """End calls of these overloads, in this thread, behind autocast: with whatever overload autocast made of them."""
    table = {one: _witness(one) for name in names for one in overloads(name)}
    with kernels(WITNESS, table), included(WITNESS):
        yield


def arrival(name: str, tensors: Iterator[torch.Tensor]) -> Arrival:
    """What arrives behind autocast when an overload is called on these tensors; call it while the overload is witnessed.

    Raises:
        RuntimeError: autocast refuses the call.
        UnreadableTable: the call did not come past the witness.
    """
    operation = overload(name)
    args, kwargs = _stand_ins(operation, tensors)
    try:
        operation(*args, **kwargs)
    except _Arrived as arrived:
        return arrived.arrival
    raise UnreadableTable(f"torch {torch.__version__}: a call of `{name}` does not pass the dispatcher")


def _witness(name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> None:
        values = [*args, *kwargs.values()]
        flat = [one for value in values for one in (value if isinstance(value, (list, tuple)) else [value])]
        tensors = tuple(one.dtype for one in flat if isinstance(one, torch.Tensor))
        explicit = next((one for one in flat if isinstance(one, torch.dtype)), None)
        raise _Arrived(Arrival(name, tensors, explicit))

    return kernel


_PLAIN: Mapping[str, Any] = {"bool": False, "int": 1, "float": 1.0, "number": 1, "str": "", "List[int]": [1]}


def _stand_ins(operation: Any, tensors: Iterator[torch.Tensor]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of the right kinds: each tensor is the next one of those given, everything else means nothing."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in operation._schema.arguments:
        kind = str(argument.type)
        if kind in ("Tensor", "Optional[Tensor]"):
            value: Any = next(tensors)
        elif kind == "List[Tensor]":
            value = [next(tensors), next(tensors)]
        elif kind == "List[Optional[Tensor]]":
            value = [None]  # indices, which are never floating
        elif argument.has_default_value():
            value = argument.default_value
        elif kind.startswith("Optional"):
            value = None
        elif kind in _PLAIN:
            value = _PLAIN[kind]
        else:
            raise UnreadableTable(f"torch {torch.__version__}: `{operation}` takes a {kind}, of which none is known")
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


class _OnCuda(torch.Tensor):
    """A tensor without data that the dispatcher takes for one on a GPU."""

    @staticmethod
    def __new__(cls, dtype: torch.dtype) -> _OnCuda:
        made: _OnCuda = torch.Tensor._make_wrapper_subclass(cls, (1,), dtype=dtype, device="cuda")
        return made

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> _OnCuda:
        if operation is not torch.ops.aten._to_copy.default:
            raise UnreadableTable(f"torch {torch.__version__}: CUDA's autocast calls `{operation}`")
        return cls(kwargs["dtype"])
