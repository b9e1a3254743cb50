"""What operations make of dtypes and bounds: plain functions from known operands to a known result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import libcst as cst

from amplint.dtypes.bounds import NO_LESS, bounds_of, interval, is_no_less, times
from amplint.dtypes.lattice import join_values, unknown
from amplint.dtypes.values import Eps, GradientFlow, Number, Tensor, Value
from amplint.model.events import Region
from amplint.model.records import changed
from amplint.model.torch import precision
from amplint.model.torch.operators import Kind, of_kind

LOGARITHMS = frozenset({"log", "log2", "log10", "log1p", "logit", "xlogy"})
EXPONENTIALS = frozenset({"exp", "expm1", "exp2"})
POWERS = frozenset({"pow", "reciprocal", "rsqrt"})
FOLLOWED = LOGARITHMS | EXPONENTIALS | POWERS
"""Operations that half precision may break, whose results are followed to a backward."""
LOG_PROBABILITIES = frozenset({"log_softmax"})
"""Operations from which the loss of a classification begins, whose results are followed to a backward, too."""

_KEEPING = of_kind(Kind.LAYOUT) | {"cuda", "cpu", "rearrange", "nan_to_num"}
"""Operations that give back some of the elements as they are."""
_ELEMENTWISE = of_kind(Kind.ELEMENTWISE)
_BETWEEN = of_kind(Kind.EXTREME, Kind.POOL)
"""Operations whose result lies between the elements."""


_SMALLER = frozenset({"min", "minimum", "fmin"})
"""Operations that give back the smaller one of two elements, and no gradient to the larger one."""

_COUNTING = (precision.BOOL, precision.INTEGER)

_POWERS_UP_TO = 1e30

_CANCEL_EXPONENTIALS = LOGARITHMS | {"softplus", "logsumexp", "reciprocal", "rsqrt"}


def elementwise(
    op: str,
    parts: Sequence[Tensor],
    region: Region | None,
    node: cst.CSTNode,
    *,
    in_place: bool = False,
    explicit: str = "",
) -> Tensor:
    """The result of an operation known by name; what is not known about the operation is unknown in the result.

    Args:
        op: the name of the function of torch, without its module.
        parts: the tensors among its operands.
        region: the autocast region in effect.
        node: the expression that computes it.
        in_place: whether the first operand is overwritten, and keeps its dtype.
        explicit: the dtype that the call asks for; empty for none.
    """
    dtype = result_dtype(op, parts, region, in_place=in_place, explicit=explicit)
    first = parts[0] if parts else Tensor()
    if op in _KEEPING and len(parts) == 1:
        return changed(first, dtype=dtype)
    if op in _BETWEEN and len(parts) == 1:
        return first.derived(node, dtype=dtype, peak=first.made if op in NO_LESS else None, saturated=None)
    if op in _SMALLER and len(parts) == 2:
        parts = [_damped_beside(*parts), _damped_beside(*reversed(parts))]
    low, high = bounds_of(op, first)
    half = dtype == precision.FLOAT16
    result = Tensor(
        dtype, low, high, node, next((part.half_at for part in parts if part.half_at), None) if half else None,
        all(part.sure for part in parts), core=node, through=unknown(*parts).through,
        detached=bool(parts) and all(part.detached for part in parts),
        zero_dim=op in _ELEMENTWISE and bool(parts) and all(part.zero_dim for part in parts),
    )  # fmt: skip
    return damped(result) if op in _CANCEL_EXPONENTIALS else result


def result_dtype(
    op: str, parts: Sequence[Tensor], region: Region | None, *, in_place: bool = False, explicit: str = ""
) -> str:
    """The dtype of a result; a tensor without dimensions does not widen one that has some."""
    counting = [part for part in parts if not part.zero_dim] or parts
    return precision.result_dtype(op, [part.dtype for part in counting], region, in_place=in_place, explicit=explicit)


def damped(value: Tensor, exponentials: bool = True, core: cst.CSTNode | None = None) -> Tensor:
    """The value, its gradient no longer in danger where a factor that follows cancels what half precision did.

    Args:
        value: a value that exponentials or logarithms have gone into.
        exponentials: whether its exponentials were normalised.
        core: the operand of a logarithm that was multiplied by it.
    """
    if not value.through:
        return value

    def cancels(flow: GradientFlow) -> bool:
        operation = flow.operation
        if operation.op in EXPONENTIALS or operation.op == "call":  # of another file, with exponentials of its own
            return exponentials
        return core is not None and _same(operation.operand.core, core)

    found = {flow for flow in value.through if not flow.damped and cancels(flow)}
    return changed(value, through=value.through - found | {changed(f, damped=True) for f in found}) if found else value


def _damped_beside(value: Tensor, other: Tensor) -> Tensor:
    """A value of which no more than the other one counts: its exponential gets no gradient where it is large.

    What an exponential has gone into is no bound: a ratio beside the same ratio clamped, as in the loss of PPO.
    """
    grows = any(flow.operation.op in EXPONENTIALS for flow in other.through)
    return value if grows else damped(value)


def _same(one: cst.CSTNode | None, other: cst.CSTNode) -> bool:
    return one is not None and (one is other or (isinstance(one, cst.BinaryOperation) and one.deep_equals(other)))


def sigmoid(operand: Tensor, argument: cst.BaseExpression | None, result: Tensor, node: cst.CSTNode) -> Tensor:
    """A sigmoid, which float16 rounds to exactly 0 or 1 unless its argument is bounded.

    Args:
        operand: what the sigmoid is taken of.
        argument: its expression, which a fix would make float32.
        result: the sigmoid, as far as dtype and range are known.
        node: the expression that computes it.
    """
    limits = precision.LIMITS[precision.FLOAT16]
    if not result.half or (operand.low > limits.sigmoid_zero and operand.high < limits.sigmoid_one):
        return result
    return changed(result, saturated=node, cure=argument)


def clamped(
    operand: Tensor, low: float | None, high: float | None, node: cst.CSTNode, argument: cst.BaseExpression | None
) -> Tensor:
    """`operand.clamp(min=low, max=high)`.

    Args:
        operand: the tensor.
        low: the lower bound; None where it is not given or not known.
        high: the upper bound, likewise.
        node: the expression that computes it.
        argument: the expression of the operand, which a fix would make float32.
    """
    new_low, new_high, lost = operand.low, operand.high, operand.lost
    if low is not None:
        limit = precision.rounded(low, operand.dtype)
        new_low = max(new_low, limit)
        if limit == 0 < low:
            lost = Eps(node, low)
    if high is not None:
        new_high = min(new_high, precision.rounded(high, operand.dtype))
        if high <= precision.LIMITS[precision.FLOAT16].largest:  # no gradient goes to what lies above
            operand = damped(operand)
    cure = operand.cure or (argument if operand.half else None)
    return operand.derived(node, low=new_low, high=new_high, lost=lost, cure=cure, core=operand.core)


def with_number(
    op: str, operand: Tensor, number: Number, flipped: bool, region: Region | None, node: cst.CSTNode,
    argument: cst.BaseExpression | None,
) -> Tensor:  # fmt: skip
    """An operation on a tensor and a number.

    Args:
        op: the name of the function of torch, without its module.
        operand: the tensor.
        number: the number.
        flipped: whether the number stands first.
        region: the autocast region in effect.
        node: the expression that computes it.
        argument: the expression of the tensor, which a fix would make float32.
    """
    if op == "pow":
        return _power(operand, number, flipped, region, node)
    if op == "div" and flipped:
        return elementwise("reciprocal", [operand], region, node)
    dtype = result_dtype(op, [operand], region)
    if dtype in _COUNTING and (op == "div" or not number.integer):
        dtype = precision.FLOAT32
    elif dtype == precision.BOOL:
        dtype = precision.INTEGER
    value = number.value
    is_bounded = value is not None or (op != "div" and math.isfinite(number.reach))
    if op not in ("add", "sub", "mul", "div") or not is_bounded:
        return operand.derived(node, dtype=dtype, low=-math.inf, high=math.inf)
    ends = [end for each in number.bounds for end in interval(op, operand, each, flipped)]
    low, high = min(ends), max(ends)
    if value is None:
        return operand.derived(node, dtype=dtype, low=low, high=high)
    lost, core = operand.lost, node
    if op in ("add", "sub") and not flipped and abs(value) < 1e-2:
        core = operand.core or node
    if operand.half and op in ("add", "sub") and 0 < abs(value) <= precision.LIMITS[precision.FLOAT16].vanishing:
        lost = Eps(node, abs(value))
    cure = operand.cure or (argument if operand.half else None)
    low, high = precision.rounded(low, dtype), precision.rounded(high, dtype)
    return operand.derived(node, dtype=dtype, low=low, high=high, lost=lost, cure=cure, core=core)


def _power(operand: Tensor, number: Number, flipped: bool, region: Region | None, node: cst.CSTNode) -> Tensor:
    result = elementwise("pow", [operand], region, node)
    even = not flipped and number.value is not None and number.value % 2 == 0
    largest = max(abs(operand.low), abs(operand.high))
    # A small power of what is no larger does not overflow, as Python's own would.
    bounded = even and number.value is not None and 0 < number.value < 9 and largest < _POWERS_UP_TO
    high = largest**number.value if bounded and number.value is not None else result.high
    return changed(result, low=0.0, high=high) if flipped or even or operand.low >= 0 else result


def between(op: str, left: Tensor, right: Tensor, region: Region | None, node: cst.CSTNode) -> Tensor:
    """An operation on two tensors.

    Args:
        op: the name of the function of torch, without its module.
        left: the first operand.
        right: the second operand.
        region: the autocast region in effect.
        node: the expression that computes it.
    """
    result = elementwise(op, [left, right], region, node)
    if op == "div" and result.dtype in _COUNTING:
        result = changed(result, dtype=precision.FLOAT32)
    if op == "mul":
        return _product(left, right, result)
    if op == "div":
        return damped(changed(result, low=0.0 if left.low >= 0 and right.low >= 0 else -math.inf))
    if op == "sub" and is_no_less(right, left):
        return changed(result, high=0.0)
    if op in ("add", "sub"):
        low, high = (right.low, right.high) if op == "add" else (-right.high, -right.low)
        result = changed(result, low=left.low + low, high=left.high + high)
        if left.saturated is not None and left.saturated is right.saturated:  # p * t + (1 - p) * (1 - t)
            return changed(result, saturated=left.saturated, cure=left.cure)
    return result


def _product(left: Tensor, right: Tensor, result: Tensor) -> Tensor:
    corners = [times(one, other) for one in (left.low, left.high) for other in (right.low, right.high)]
    result = changed(result, low=min(corners), high=max(corners))
    for factor in (left, right):  # p * log(p): the factor cancels the derivative 1/p
        if factor.core is not None:
            result = damped(result, exponentials=False, core=factor.core)
    rounded = left if left.saturated is not None else right
    if rounded.saturated is None:
        return result
    # What a probability is multiplied by, a target or a mask, is taken to be no less than zero.
    return changed(result, saturated=rounded.saturated, cure=rounded.cure, low=0.0)


def where(left: Value, right: Value, node: cst.CSTNode) -> Value:
    """One of two values, element by element.

    Args:
        left: what is taken where the condition holds.
        right: what is taken elsewhere.
        node: the expression that computes it.
    """
    for number, tensor in ((left, right), (right, left)):
        if isinstance(number, Number) and isinstance(tensor, Tensor):
            low, high = number.bounds
            return tensor.derived(node, low=min(tensor.low, low), high=max(tensor.high, high))
        if isinstance(number, Tensor) and isinstance(tensor, Tensor) and number.zero_dim and not tensor.zero_dim:
            return tensor.derived(node, low=min(number.low, tensor.low), high=max(number.high, tensor.high))
    joined = join_values(left, right)
    return joined.derived(node) if isinstance(joined, Tensor) else joined


def truth(node: cst.CSTNode) -> Tensor:
    """A tensor of truth values."""
    return Tensor(precision.BOOL, 0.0, 1.0, node, core=node)
