"""Where exponentials and logarithms of half operands go wrong in a loss."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from amplint.dtypes import arithmetic
from amplint.dtypes.values import Number, Operation, Tensor, tensors
from amplint.model.records import frozen
from amplint.model.torch import precision
from amplint.syntax.tree import Tree

_HALF = precision.LIMITS[precision.FLOAT16]
_BASES = {"log2": 2, "log10": 10}
"""The bases of logarithms that are not natural: the derivative is smaller by their natural logarithm."""


class Danger(enum.Enum):
    """What is wrong with an exponential or a logarithm."""

    ROUNDED = "the operand is a half sigmoid, rounded to exactly 0 or 1"
    LOST_EPS = "the epsilon that should keep the operand from 0 vanished in half"
    GRADIENT = "the gradient is infinite when it is cast back to the half operand"
    NARROWED = "the float32 result is cast to half"
    IN_HALF = "the operation itself runs in half"


@frozen
class DtypeHazard:
    """A dangerous operation of a loss.

    `limit` is the operand beyond which the danger is real; `narrowed_at` is where a result is cast to half.
    """

    danger: Danger
    operation: Operation
    operand: Tensor
    limit: float = 0.0
    narrowed_at: cst.CSTNode | None = None


def calls_followed(tree: Tree) -> bool:
    """Whether a tree holds any exponential, logarithm or power at all."""
    calls = (_operation_name(call) for call in tree.find(cst.Call))
    return bool(tree.find(cst.Power)) or any(name in arithmetic.FOLLOWED for name in calls)


def loss_hazards(
    operations: Iterable[Operation], reached: Mapping[Operation, bool], tree: Tree
) -> Iterator[DtypeHazard]:
    """The hazards of the operations that a loss is differentiated through, one for each place in the file.

    Args:
        operations: all of the file.
        reached: those that a gradient flows through, each with whether what follows cancels the danger.
        tree: the file.
    """
    found: dict[cst.CSTNode, DtypeHazard] = {}
    narrowed = dict(_narrowings(operations))
    for operation in operations:
        if operation not in reached or operation.op not in arithmetic.FOLLOWED or operation.node in found:
            continue
        hazard = _judge(operation, reached[operation], tree)
        if hazard is None and operation in narrowed:
            hazard = DtypeHazard(Danger.NARROWED, operation, operation.operand, _HALF.exp_overflow, narrowed[operation])
        if hazard is not None:
            found[operation.node] = hazard
    yield from found.values()


def _judge(operation: Operation, cancelled: bool, tree: Tree) -> DtypeHazard | None:
    if operation.op in arithmetic.EXPONENTIALS:
        return _exponential(operation, operation.operand, cancelled, _exp_limit(operation.op))
    if operation.op in arithmetic.POWERS:
        return _power(operation, cancelled)
    operand = operation.operand
    if operation.op == "xlogy":
        operand = next((part for value in operation.operands[1:] for part in tensors(value)), operand)
    return _logarithm(operation, operand, cancelled, tree)


def _exp_limit(op: str) -> float:
    return 16.0 if op == "exp2" else _HALF.exp_overflow


def _exponential(operation: Operation, operand: Tensor, cancelled: bool, limit: float) -> DtypeHazard | None:
    if not (operand.half and operand.sure) or operand.high <= limit:
        return None
    if operation.dtype == precision.FLOAT16:
        return DtypeHazard(Danger.IN_HALF, operation, operand, limit)
    if cancelled or operand.detached or operation.dtype != precision.FLOAT32:
        return None
    return DtypeHazard(Danger.GRADIENT, operation, operand, limit)


def _power(operation: Operation, cancelled: bool) -> DtypeHazard | None:
    if operation.op == "pow" and len(operation.operands) == 2:
        base, exponent = operation.operands
        if isinstance(base, Number) and isinstance(exponent, Tensor) and base.value is not None and base.value > 1:
            growth = math.log(base.value)
            largest = _HALF.largest if operation.dtype == precision.FLOAT16 else _HALF.largest / growth
            return _exponential(operation, exponent, cancelled, math.log(largest) / growth)
        if not (isinstance(exponent, Number) and exponent.value is not None and exponent.value < 0):
            return None
        power = -exponent.value
    elif operation.op in ("reciprocal", "rsqrt"):
        power = 1.0 if operation.op == "reciprocal" else 0.5
    else:
        return None
    operand = operation.operand
    limit = (power / _HALF.largest) ** (1 / (power + 1))
    if not (operand.half and operand.sure) or cancelled or operand.detached or operand.low >= limit:
        return None
    return DtypeHazard(Danger.GRADIENT, operation, operand, limit)


def _logarithm(operation: Operation, operand: Tensor, cancelled: bool, tree: Tree) -> DtypeHazard | None:
    limit = _HALF.smallest_invertible / math.log(_BASES.get(operation.op, math.e))
    low = operand.low + 1 if operation.op == "log1p" else operand.low
    if operation.op == "log1p" and math.isinf(low):
        return None  # what is given to log1p is hardly ever meant to be negative
    at_one = operation.op == "logit" and operand.high >= 1
    if low >= limit and not at_one:
        return None
    if operand.saturated is not None:
        if _is_fusible(operation, operand, tree):
            return None
        if low <= 0 or at_one:
            danger = Danger.LOST_EPS if operand.lost is not None else Danger.ROUNDED
            return DtypeHazard(danger, operation, operand, limit)
    elif not (operand.half and operand.sure):
        return None
    elif operand.lost is not None and low <= 0:
        return DtypeHazard(Danger.LOST_EPS, operation, operand, limit)
    if cancelled or operand.detached:
        return None
    return DtypeHazard(Danger.GRADIENT, operation, operand, limit)


def _is_fusible(operation: Operation, operand: Tensor, tree: Tree) -> bool:
    """Whether it is `log(sigmoid(x))` spelled out in one function, for which torch has a fused form."""
    return (
        operand.made is operand.saturated
        and operand.cure is not None
        and operation.op == "log"
        and tree.enclosing(operation.node, cst.FunctionDef) is tree.enclosing(operand.cure, cst.FunctionDef)
    )


def _narrowings(operations: Iterable[Operation]) -> Iterator[tuple[Operation, cst.CSTNode]]:
    """The exponentials whose float32 result is cast to half at once, and where."""
    for operation in operations:
        if operation.dtype != precision.FLOAT16 or operation.op in ("add", "sub", "mul", "div"):
            continue
        for part in (part for value in operation.operands for part in tensors(value)):
            if part.dtype != precision.FLOAT32 or part.high <= _HALF.largest:
                continue
            for flow in part.through:
                if flow.operation.node is part.made and flow.operation.op in arithmetic.EXPONENTIALS:
                    yield flow.operation, operation.node


def _operation_name(call: cst.Call) -> str:
    """The name of the function or method that is called, in-place forms included."""
    function = call.func.attr if type(call.func) is cst.Attribute else call.func
    return function.value.rstrip("_") if isinstance(function, cst.Name) else ""
