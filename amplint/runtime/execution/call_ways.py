"""How the author's function is called: in which precision, where, and what is watched meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from amplint.model.events import Region
from amplint.model.torch.operators import Policy, policy
from amplint.runtime.devices import CUDA
from amplint.runtime.emulation.kernels import EMULATION, below
from amplint.runtime.numeric.compute import floating
from amplint.runtime.numeric.expression import Operand
from amplint.runtime.numeric.sweep import dtype_of
from amplint.runtime.training.amp_and_reference import autocast


class CallWay:
    """How the function is called: under AMP on a device, or, with a precision, in that and without regions, on the CPU.

    Args:
        device: one of `amplint.runtime.devices`.
        region: the region around the call.
        precision: None under AMP.
    """

    def __init__(self, device: str, region: Region | None = None, precision: torch.dtype | None = None) -> None:
        self.device, self.region, self.precision = device if precision is None else "cpu", region, precision

    def placed(self, value: torch.Tensor | float, owner: Operand) -> Any:
        """What a parameter is given.

        Args:
            value: the value, in float64.
            owner: the parameter.
        """
        if not isinstance(value, torch.Tensor):
            return value
        if value.is_floating_point():
            value = value.to(self.precision or dtype_of(owner))
        return value.to("cuda") if self.device == CUDA else value.clone()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Within, value and gradients are computed."""
        with ExitStack() as stack:
            if self.device != CUDA:
                stack.enter_context(_WithoutGpu(self.precision))
            if self.precision is not None:
                stack.enter_context(below(EMULATION))
                stack.enter_context(_default_dtype(self.precision))
            yield

    def around_call(self) -> AbstractContextManager[object]:
        """The region that the file calls the function in; the backward pass is not in it."""
        if self.precision is not None or self.region is None:
            return nullcontext()
        return autocast(self.region, self.device, True)


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


_CASTS = frozenset({"half", "bfloat16", "float", "double"})


class _WithoutGpu(TorchFunctionMode):
    """Keeps on the CPU what the code sends to a GPU; with a precision, keeps all floating tensors in that, whatever the casts."""

    def __init__(self, precision: torch.dtype | None) -> None:
        super().__init__()
        self._precision = precision

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "cuda":
            return args[0]
        if self._precision is not None and name in _CASTS and isinstance(args[0], torch.Tensor):
            return args[0].to(self._precision)
        given = {key: self._changed(value) for key, value in (kwargs or {}).items()}
        return func(*map(self._changed, args), **given)

    def _changed(self, value: Any) -> Any:
        if isinstance(value, torch.dtype) and value.is_floating_point:
            return self._precision or value
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value


class LoweredProducts(TorchFunctionMode):
    """Counts the products that autocast has computed in half, while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        is_product = policy(getattr(func, "__name__", "").strip("_"), "cuda") is Policy.LOWER
        self.count += is_product and any(each.dtype in (torch.float16, torch.bfloat16) for each in floating(result))
        return result


class Trace:
    """The rows of a file that run, noted while it is entered."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.rows: set[int] = set()

    def __enter__(self) -> Trace:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._went_on if frame.f_code.co_filename == self._file else None

    def _went_on(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.rows.add(frame.f_lineno)
        return self._went_on
