"""Between which bounds the results of operations lie: arithmetic of intervals."""

from __future__ import annotations

import math

from amplint.dtypes.values import Tensor
from amplint.model.torch.operators import OPERATORS

NO_LESS = frozenset({"max", "amax", "logsumexp"})
"""Reductions whose result is no less than any element."""


def bounds_of(op: str, operand: Tensor) -> tuple[float, float]:
    """The bounds of a function of one tensor.

    Args:
        op: the name of the function of torch, without its module.
        operand: the tensor.
    """
    if op == "abs":
        return 0.0, max(abs(operand.low), abs(operand.high))
    if op in ("exp", "exp2"):
        return _exp(operand.low), _exp(operand.high)
    if op in ("sum", "prod", "cumsum", "cumprod"):
        least = 1.0 if op == "sum" and _reaches_one(operand) else 0.0
        return (least if operand.low >= 0 else -math.inf), math.inf
    if op == "neg":
        return -operand.high, -operand.low
    if op == "sqrt" and operand.high >= 0:
        return 0.0, math.sqrt(operand.high)
    low, high = OPERATORS[op].range if op in OPERATORS else (-math.inf, math.inf)
    return (low, max(operand.high, 0.0)) if op == "relu" else (low, high)


def _reaches_one(operand: Tensor) -> bool:
    """Whether a tensor is the exponential of one from which its own maximum was taken: `exp(x - x.max())`."""
    inside = operand.maker.operand if operand.maker is not None and operand.maker.op in ("exp", "exp2") else None
    return inside is not None and inside.high == 0.0 and inside.maker is not None and inside.maker.op == "sub"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def interval(op: str, operand: Tensor, value: float, flipped: bool) -> tuple[float, float]:
    """The bounds of an operation on a tensor and a number, not yet in order.

    Args:
        op: "add", "sub", "mul" or "div".
        operand: the tensor.
        value: the number.
        flipped: whether the number stands first.
    """
    low, high = operand.low, operand.high
    if op == "add":
        return low + value, high + value
    if op == "sub":
        return (value - high, value - low) if flipped else (low - value, high - value)
    if op == "mul":
        return times(low, value), times(high, value)
    return (low / value, high / value) if value else (-math.inf, math.inf)


def times(one: float, other: float) -> float:
    """The product of two bounds, zero where one of them is zero and the other one infinite.

    Args:
        one: the first bound.
        other: the second bound.
    """
    return 0.0 if one == 0 or other == 0 else one * other


def is_no_less(bound: Tensor, operand: Tensor) -> bool:
    """Whether no element of an operand lies above a bound: its maximum, or `logsumexp`.

    Args:
        bound: what may be the bound.
        operand: the tensor.
    """
    if bound.peak is not None:
        return bound.peak is operand.made
    return bound.maker is not None and bound.maker.op in NO_LESS and bound.maker.operand is operand
