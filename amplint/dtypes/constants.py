"""Constants that meet half tensors: added, clamped on, filled in."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.dtypes.values import Number, Operation, Tensor, Value
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.model.torch import precision
from amplint.syntax.words import words


class ConstantEffect(enum.Enum):
    """What is done with a constant."""

    ADDED = "added to every element"
    SCALES = "multiplied with every element"
    LOWER = "the lower bound of a clamp"
    UPPER = "the upper bound of a clamp"
    CHOSEN = "chosen in place of some elements"
    FILLED = "filled into a tensor of this dtype"
    STORED = "assigned to elements"


@frozen
class ConstantUse:
    """A constant that meets a half tensor.

    Attributes:
        operand: the tensor, and `operand_node` its expression.
        value: what the constant is in Python.
        node: the expression of the constant.
    """

    operation: Operation
    use: ConstantEffect
    operand: Tensor
    operand_node: cst.BaseExpression | None
    value: float
    node: cst.BaseExpression | None


_FILLS = {
    "masked_fill": 2,
    "fill": 1,
    "full_like": 1,
    "index_fill": 3,
    "new_full": 2,
    "full": 1,
    "pad": 3,
    "scatter": 3,
}
"""The position of the constant in what fills it in; the method's object counts."""
_KEYWORDS = {"full": "fill_value", "full_like": "fill_value", "new_full": "fill_value"}


def constants(operations: Iterable[Operation]) -> Iterator[ConstantUse]:
    """Every constant that meets a float16 tensor, once for each evaluation."""
    for operation in operations:
        for constant in _of(operation):
            if math.isfinite(constant.value):
                yield constant


def distinct_uses(uses: Iterable[ConstantUse]) -> tuple[ConstantUse, ...]:
    """One use for each place in the file: the first in which the dtype is sure, or the first of all.

    A function is evaluated for unknown callers, too, of whose tensors nothing is sure.
    """
    found: dict[tuple[cst.CSTNode, ConstantEffect], ConstantUse] = {}
    for each in uses:
        place = each.operation.node, each.use
        if place not in found or (each.operand.sure and not found[place].operand.sure):
            found[place] = each
    return tuple(found.values())


def _of(operation: Operation) -> Iterator[ConstantUse]:
    op = operation.op
    if op in ("add", "sub", "mul"):
        yield from _arithmetic(operation)
    elif op == "clamp":
        yield from _meeting(operation, ConstantEffect.LOWER, 0, -1, "min")
        yield from _meeting(operation, ConstantEffect.UPPER, 0, -1, "max")
    elif op == "where":
        yield from _meeting(operation, ConstantEffect.CHOSEN, 1, 2, "other")
        yield from _meeting(operation, ConstantEffect.CHOSEN, 2, 1, "input")
    elif op == "setitem":
        yield from _meeting(operation, ConstantEffect.STORED, 0, 1)
    elif op in ("full", "new_full", "full_like"):
        if operation.dtype == precision.FLOAT16:
            yield from _filled(operation)
    elif op in _FILLS:
        yield from _meeting(operation, ConstantEffect.FILLED, 0, _FILLS[op], "value")


def _arithmetic(operation: Operation) -> Iterator[ConstantUse]:
    if operation.dtype == precision.FLOAT16:
        use = ConstantEffect.SCALES if operation.op == "mul" else ConstantEffect.ADDED
        yield from _meeting(operation, use, 0, 1, "other")
        yield from _meeting(operation, use, 1, 0)
    if operation.in_place and operation.op != "mul":
        yield from _mask_added(operation)


def _mask_added(operation: Operation) -> Iterator[ConstantUse]:
    """What `scores += mask * -1e9` adds where the mask is set: the scores decide on the dtype, not the mask."""
    scores, mask = operation.operand, operation.arguments.get(1, "other")
    product = mask.maker if isinstance(mask, Tensor) else None
    if not scores.half or product is None or product.op != "mul":
        return
    parts = [*zip(product.arguments.nodes, product.arguments.values)]
    factors = [(node, value.value) for node, value in parts if isinstance(value, Number) and value.value is not None]
    masks = [value for node, value in parts if isinstance(value, Tensor) and _is_mask(node, value)]
    if masks and factors:
        node, value = factors[0]
        yield ConstantUse(operation, ConstantEffect.ADDED, scores, operation.arguments.node(0), value, node)


def _is_mask(node: cst.CSTNode | None, value: Tensor) -> bool:
    """Whether a tensor holds zeros and ones, by its dtype, its bounds or its name."""
    bounded = value.dtype == precision.BOOL or (value.low, value.high) == (0.0, 1.0)
    return bounded or (node is not None and any(vocabulary.MASK.search(word) for word in words(node)))


def _meeting(
    operation: Operation, use: ConstantEffect, operand: int, constant: int, *names: str
) -> Iterator[ConstantUse]:
    arguments = operation.arguments
    tensor = arguments.get(operand, *(("input", "self") if operand == 0 else ()))
    value = _constant(arguments.get(constant, *names) if constant >= 0 else arguments.keywords.get(names[0]))
    if isinstance(tensor, Tensor) and tensor.half and value is not None:
        node = arguments.node(constant, *names) if constant >= 0 else arguments.keyword_nodes.get(names[0])
        yield ConstantUse(operation, use, tensor, arguments.node(operand, "input", "self"), value, node)


def _filled(operation: Operation) -> Iterator[ConstantUse]:
    place, name = _FILLS[operation.op], _KEYWORDS[operation.op]
    value = _constant(operation.arguments.get(place, name))
    if value is not None:
        node = operation.arguments.node(place, name)
        yield ConstantUse(operation, ConstantEffect.FILLED, Tensor(operation.dtype), None, value, node)


def _constant(value: Value | None) -> float | None:
    """The value of a Python number, or of a tensor without dimensions that is made of one."""
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Tensor) and value.zero_dim and value.low == value.high:
        return value.low
    return None
