"""The closed list: which operations a replayed expression may be made of, and where torch has them.

An operation goes by a module and a name: `torch.log`, `functional.softplus`, `special.expit`, `linalg.norm`, `Tensor.exp_`,
`nn.Sigmoid`, `operator.add`. None of them calls back into other code, reads or writes files, or takes more than tensors and
literals. What draws at random draws the same numbers each time (`amplint.runtime.numeric.compute`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from amplint.model.torch import precision
from amplint.model.torch.operators import Kind, layers_of, of_kind

RANDOM = frozenset("rand randn randint randperm rand_like randn_like".split())
"""Operations that draw at random."""
NAMES = of_kind(
    Kind.PRODUCT, Kind.ELEMENTWISE, Kind.REDUCTION, Kind.EXTREME, Kind.POOL, Kind.ALONG, Kind.LAYOUT, Kind.ARRANGE, Kind.LOSS,
    Kind.TRUTH, Kind.INDEX, Kind.READ, Kind.MADE, Kind.LIKE,
) - {"gumbel_softmax"}  # fmt: skip
"""The functions of torch and the methods of tensors on the list; in-place forms count as their plain ones.
What draws at random inside would draw other numbers in another precision."""

LAYERS = frozenset(
    layer
    for layer in layers_of(Kind.ELEMENTWISE, Kind.ALONG, Kind.LAYOUT, Kind.POOL, Kind.LOSS)
    if "Norm" not in layer and layer != "PReLU"
)
"""The layers without weights, and losses, on the list; what other layers give back is a value from outside."""

ATTRIBUTES = frozenset("T mT H mH shape dtype values indices ndim data".split())
"""The attributes of tensors, and of pairs that torch gives back, on the list."""

CASTS: Mapping[str, str] = MappingProxyType({**precision.CASTS, "bool": "bool", "long": "int64", "int": "int32"})
"""Methods that give back a tensor in another dtype."""

UNMOVED = frozenset("cuda cpu contiguous requires_grad_ identity dropout alpha_dropout to_dense".split())
"""Operations that give back what they are given, as far as values go; a dropout is taken to drop nothing."""

_SOURCES: Mapping[str, object] = MappingProxyType(
    {
        "torch": torch, "functional": torch.nn.functional, "special": torch.special, "linalg": torch.linalg,
        "Tensor": torch.Tensor, "nn": torch.nn,
    }
)  # fmt: skip

_OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        name: getattr(operator, name)
        for name in "add sub mul truediv pow matmul floordiv mod neg pos invert eq ne lt le gt ge and_ or_ xor".split()
    }
)

_MATH: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"math.log": math.log, "math.exp": math.exp, "math.sqrt": math.sqrt, "math.pow": math.pow, "math.log2": math.log2,
     "math.log10": math.log10, "math.log1p": math.log1p, "builtins.float": float, "builtins.int": int, "builtins.abs": abs,
     "builtins.max": max, "builtins.min": min, "builtins.len": len, "builtins.round": round, "torch.finfo": torch.finfo}
)  # fmt: skip
"""Functions of numbers; those of builtins also take tensors."""

CONSTANTS: Mapping[str, object] = MappingProxyType(
    {"math.pi": math.pi, "math.e": math.e, "math.inf": math.inf, "torch.pi": math.pi, "torch.inf": math.inf,
     "torch.nan": math.nan, "torch.e": math.e, "math.nan": math.nan}
)  # fmt: skip


def listed(op: str) -> bool:
    """Whether an operation is on the list, and the installed torch has it."""
    source, _, name = op.rpartition(".")
    if source == "operator":
        return name.removeprefix("i") in _OPERATORS or name in _OPERATORS
    if op in _MATH:
        return True
    if source == "nn":
        return name in LAYERS and hasattr(torch.nn, name)
    in_place = source == "Tensor" and name.endswith("_") and not name.endswith("__")
    return (name.rstrip("_") if in_place else name) in NAMES and hasattr(_SOURCES.get(source), name)


def function(op: str) -> Callable[..., Any]:
    """What torch computes an operation with.

    Raises:
        KeyError: the operation is not on the list.
    """
    if not listed(op):
        raise KeyError(op)
    source, _, name = op.rpartition(".")
    if op in _MATH:
        return _MATH[op]
    found: Callable[..., Any] = _OPERATORS[name] if source == "operator" else getattr(_SOURCES[source], name)
    return found
