"""CUDA's autocast on CPU tensors: the dtypes of a GPU, with real values and gradients, on a machine without one.

    with cuda_autocast():
        with region(torch.float16):
            loss = criterion(model(x), y)

What happens to an operation is read from the installed torch. The kernels stand on a dispatch key that only the threads
inside `cuda_autocast` include; nothing is left behind when the last of them has gone. CPU autocast is not involved, and
CUDA tensors go their usual way.

Plain regions and scalers for CUDA are on inside, and so are those that torch opens by itself (`gpu_claims`). The dtypes are
exact; the arithmetic is the CPU's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from amplint.model.torch.operators import Policy
from amplint.runtime.emulation.cuda_table import Treatment, cuda_table
from amplint.runtime.emulation.gpu_claims import gpu_claimed
from amplint.runtime.emulation.kernels import EMULATION, below, included, kernels, overload, overloads
from amplint.runtime.emulation.region import cast, forget_casts, region, region_dtype

__all__ = ["cuda_autocast", "region"]


@contextmanager
def cuda_autocast() -> Iterator[None]:
    """Let this thread's CPU tensors meet CUDA's autocast wherever a `region` is enabled; may be nested.

    Raises:
        UnreadableTable: the installed torch treats an operation in a way that amplint does not know.
    """
    with _shared, included(EMULATION):
        try:
            yield
        finally:
            forget_casts()


class _Shared:
    """The kernels, and the claim that there is a GPU, which stand while at least one thread emulates."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._standing = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                with ExitStack() as standing:
                    standing.enter_context(kernels(EMULATION, _kernels()))
                    standing.enter_context(gpu_claimed())
                    self._standing = standing.pop_all()
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._standing.close()


_shared = _Shared()


# -- the policies ------------------------------------------------------------------------------------------------------


Treat = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
"""Calls an operation in its way, on the arguments given."""


def _kernels() -> dict[str, Callable[..., Any]]:
    listed = {name: _kernel(name, partial(_by_policy, how)) for name, how in cuda_table().items()}
    return listed | {name: _kernel(name, _like_cudnn) for packet in _RECURRENT for name in overloads(packet)}


def _kernel(name: str, treat: Treat) -> Callable[..., Any]:
    operation = overload(name)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with below(EMULATION):  # as on CUDA: what an operation is made of does not meet autocast once more
            if torch.is_autocast_enabled("cuda"):
                return treat(operation, args, kwargs)
            return operation(*args, **kwargs)

    return kernel


_RECURRENT = ("gru", "lstm", "rnn_relu", "rnn_tanh")
"""On a GPU these layers are one operation of cuDNN, listed for autocast. A CPU has no such operation to be listed."""


def _like_cudnn(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A recurrent layer on operands in the region's precision, and with results in it; a CPU computes it in float32 only."""
    dtype = region_dtype()
    narrow_args, narrow_kwargs = _with_tensors(args, dtype), _with_tensors(kwargs, dtype)
    result = operation(*_with_tensors(narrow_args, torch.float32), **_with_tensors(narrow_kwargs, torch.float32))
    return _with_tensors(result, dtype)


def _by_policy(how: Treatment, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation under the policy that CUDA's autocast has for it."""
    if how.policy is Policy.BANNED:
        raise RuntimeError(how.refusal)
    if how.policy is Policy.FLOAT32_RESULT:
        return _with_float32_result(operation, how.becomes, args, kwargs)
    if how.policy is Policy.PROMOTE:
        dtype = _widest(_tensors([*args, *kwargs.values()]))
    else:
        dtype = region_dtype() if how.policy is Policy.LOWER else torch.float32
    return operation(*_with_tensors(args, dtype), **_with_tensors(kwargs, dtype))


def _with_float32_result(operation: Any, becomes: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation asked for a float32 result, unless the caller asks for another one; its inputs stay as they are."""
    parameters = operation._schema.arguments
    given = {one.name: one.default_value for one in parameters if one.has_default_value()}
    given |= dict(zip((one.name for one in parameters), args)) | kwargs
    operand = given[parameters[0].name]
    if given.get("dtype") is None and _eligible(operand):
        given["dtype"] = torch.float32
    target = overload(becomes) if becomes else operation
    if becomes:
        given.setdefault("dtype", operand.dtype)
    by_position = [given.pop(one.name) for one in target._schema.arguments if not one.kwarg_only]
    return target(*by_position, **given)


def _widest(tensors: Iterable[torch.Tensor]) -> torch.dtype:
    """The precision that operands are promoted to: float32 as soon as one of them has it, else the region's."""
    lower = widest = region_dtype()
    for dtype in (one.dtype for one in tensors if _eligible(one)):
        if torch.float32 in (widest, dtype):
            widest = torch.float32
        elif dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return widest


def _with_tensors(value: Any, dtype: torch.dtype) -> Any:
    """A value, or what a container holds, with the tensors that autocast minds in a precision."""
    if isinstance(value, torch.Tensor):
        return cast(value, dtype) if _eligible(value) else value
    if isinstance(value, (list, tuple)):
        return type(value)(_with_tensors(one, dtype) for one in value)
    if isinstance(value, dict):
        return {key: _with_tensors(one, dtype) for key, one in value.items()}
    return value


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _eligible(tensor: torch.Tensor) -> bool:
    """Whether autocast minds a tensor, had it been on a GPU."""
    return tensor.device.type == "cpu" and tensor.is_floating_point() and tensor.dtype is not torch.float64
