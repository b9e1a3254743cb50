"""Computing an expression: under AMP as the code has it, or all of it in one precision."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from amplint.dtypes.values import DType
from amplint.model.events import Region
from amplint.runtime.devices import CUDA
from amplint.runtime.numeric import operations
from amplint.runtime.numeric.expression import (
    Apply,
    Container,
    Expression,
    Literal,
    Operand,
    short_name,
    subexpressions,
)
from amplint.runtime.training.amp_and_reference import autocast

_FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})


@dataclass(frozen=True)
class Way:
    """How to compute: under AMP on a device (`amplint.runtime.devices`), or everything in `precision`, without regions.

    `aside` holds the ids of operations that are computed in float32, and held fixed, although the rest is not.
    """

    device: str = ""
    precision: torch.dtype | None = None
    aside: frozenset[int] = frozenset()


class CompiledExpression:
    """An expression, ready to be computed at many points."""

    def __init__(self, root: Expression) -> None:
        self.root = root
        self.steps = subexpressions(root)
        self.operands = [step for step in self.steps if isinstance(step, Operand)]

    def run(self, values: Mapping[Operand, Any], way: Way) -> list[torch.Tensor]:
        """The floating tensors that the expression comes to; one for a tensor, several for a tuple.

        Args:
            values: what the operands hold.
            way: in which precision, and under which regions.

        Raises:
            RuntimeError, TypeError, ValueError, IndexError: what torch raises on these operands.
        """
        return floating(self.trace(values, way)[id(self.root)])

    def trace(self, values: Mapping[Operand, Any], way: Way) -> dict[int, Any]:
        """What each part of the expression comes to, by its id. Raises what `run` does.

        Args:
            values: what the operands hold.
            way: in which precision, and under which regions.
        """
        home: AbstractContextManager[object] = torch.device("cuda") if way.device == CUDA else nullcontext()
        with home:  # where tensors that the expression makes live
            return self._traced(values, way)

    def _traced(self, values: Mapping[Operand, Any], way: Way) -> dict[int, Any]:
        done: dict[int, Any] = {}
        for step in self.steps:
            if isinstance(step, Operand):
                done[id(step)] = values[step]
            elif isinstance(step, Literal):
                done[id(step)] = _constant(step.value, way.precision)
            elif isinstance(step, Container):
                done[id(step)] = _items(step, [done[id(item)] for item in step.items])
            elif isinstance(step, Apply):
                done[id(step)] = _applied(step, done, way)
        return done


def _constant(value: object, precision: torch.dtype | None) -> object:
    if not isinstance(value, DType):
        return value
    if value.name in _FLOATING and precision is not None:
        return precision
    return getattr(torch, "int64" if value.name == "int" else value.name)


def _items(items: Container, values: Sequence[Any]) -> Any:
    if items.keys is not None:
        return dict(zip(items.keys, values))
    return list(values) if items.is_list else tuple(values)


def floating(value: Any) -> list[torch.Tensor]:
    """The floating tensors in a value, those of a tuple, a list or a dictionary included."""
    return [each for each in all_tensors(value) if each.is_floating_point()]


def all_tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in a value, those of a tuple, a list or a dictionary included."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in all_tensors(item)] if isinstance(value, (tuple, list)) else []


def _applied(step: Apply, done: Mapping[int, Any], way: Way) -> Any:
    arguments = [done[id(each)] for each in step.arguments]
    keywords = {key: done[id(value)] for key, value in step.keywords}
    is_aside = id(step) in way.aside
    precision = way.precision or (torch.float32 if is_aside else None)
    if is_aside and way.precision is None:
        arguments = [_widened(each, torch.float32) for each in arguments]
        keywords = {key: _widened(value, torch.float32) for key, value in keywords.items()}
    region = step.region if precision is None else None
    with torch.set_grad_enabled(step.graded and not is_aside), _entered(region, way.device):
        result = _perform(step, arguments, keywords, precision)
    return result if precision is None else _widened(result, precision)


def _entered(region: Region | None, device: str) -> AbstractContextManager[object]:
    return nullcontext() if region is None else autocast(region, device, True)


def _widened(value: Any, dtype: torch.dtype) -> Any:
    """A value with its floating tensors in a precision."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if type(value) in (tuple, list):
        return type(value)(_widened(each, dtype) for each in value)
    if isinstance(value, tuple):  # a pair of values and indices
        return type(value)([_widened(each, dtype) for each in value])
    return value


def _perform(step: Apply, arguments: list[Any], keywords: dict[str, Any], precision: torch.dtype | None) -> Any:
    source, _, name = step.op.rpartition(".")
    if source in ("math", "builtins") and name != "len" and any(isinstance(each, torch.Tensor) for each in arguments):
        raise TypeError(f"{name}() of a tensor")
    special = _SPECIAL.get(step.op)
    if special is not None:
        return special(*arguments)
    if source == "attribute":
        return getattr(arguments[0], name)
    if source == "operator" and isinstance(arguments[0], torch.Tensor) and name in _IN_PLACE:
        return getattr(torch.Tensor, _IN_PLACE[name])(arguments[0].clone(), *arguments[1:])
    if source == "operator":
        return operations.function(step.op.replace(".i", ".") if name in _IN_PLACE else step.op)(*arguments)
    if precision is not None and name == "binary_cross_entropy_with_logits":
        arguments = [_widened(each, precision) for each in arguments]
    if "out" in keywords:  # in exact arithmetic, what is written to has the precision of everything
        written = keywords.pop("out")
        keywords |= {"out": torch.empty_like(written)} if precision is None else {}
    if source == "nn":
        (given, named), *inputs = arguments
        return operations.function(step.op)(*given, **named)(*inputs, **keywords)
    if name in operations.RANDOM:
        return _drawn(step, arguments, keywords)
    if source == "Tensor" and name.endswith("_") and not name.endswith("__"):
        arguments[0] = arguments[0].clone()  # others may still need what it is computed from
    return operations.function(step.op)(*arguments, **keywords)


_IN_PLACE = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ipow": "pow_", "imatmul": "__matmul__",
    "ifloordiv": "floor_divide_", "imod": "remainder_", "iand_": "__and__", "ior_": "__or__", "ixor": "__xor__",
}  # fmt: skip


def _setitem(tensor: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    changed = tensor.clone()
    changed[index] = value
    return changed


def _to(tensor: Any, dtype: torch.dtype) -> Any:
    return tensor.to(dtype) if isinstance(tensor, torch.Tensor) else tensor


_SPECIAL: Mapping[str, Callable[..., Any]] = {
    "cast.to": _to,
    "subscript.getitem": lambda tensor, index: tensor[tuple(index) if type(index) is list else index],
    "subscript.setitem": _setitem,
    "subscript.slice": slice,
}


def _drawn(step: Apply, arguments: list[Any], keywords: dict[str, Any]) -> torch.Tensor:
    """The same numbers for the same place, whatever the precision."""
    like = arguments[0] if arguments and isinstance(arguments[0], torch.Tensor) else None
    name = short_name(step.op).removesuffix("_like")
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    dtype = keywords.get("dtype")
    if like is not None:
        drawn = (torch.rand if name == "rand" else torch.randn)(like.shape, generator=generator, dtype=torch.float64)
        return drawn.to(like.device, dtype or like.dtype)
    given = {key: value for key, value in keywords.items() if key not in ("dtype", "generator", "requires_grad")}
    if name in ("randint", "randperm"):
        return operations.function(step.op)(*arguments, **given, generator=generator).to(dtype or torch.int64)
    drawn = operations.function(step.op)(*arguments, **given, generator=generator, dtype=torch.float64)
    return drawn.to(dtype or torch.float32)
