"""Operators of the dtype flow, and the record of every operation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from amplint.dtypes import arithmetic, containers
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import unknown
from amplint.dtypes.values import (
    UNKNOWN,
    Arguments,
    GradientFlow,
    Items,
    Layer,
    Number,
    Operation,
    Tensor,
    Value,
    tensors,
    told,
)
from amplint.model import vocabulary
from amplint.model.events import Region
from amplint.model.records import changed
from amplint.model.torch import precision
from amplint.model.torch.operators import Policy, policy
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

_FOLDED: dict[str, Callable[[float, float], float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": math.pow,
}  # fmt: skip
_TO_CPU = frozenset({"cpu", "from_numpy"})
"""Operations whose results lie in the memory of the CPU."""


class Operators:
    """Combines values and files what was combined: the ground floor of the flow.

    Args:
        tree: the file.
        names: what its names mean.
        contexts: the autocast regions that it enters.
    """

    def __init__(self, tree: Tree, names: Names, contexts: Contexts) -> None:
        self.tree = tree
        self.names = names
        self.contexts = contexts
        self.operations: list[Operation] = []

    def is_here(self, node: cst.CSTNode) -> bool:
        """Whether a node stands in this file; what happens in others is told there."""
        return self.tree.root(node) is self.tree.module

    def combine(
        self, op: str, node: cst.CSTNode, one: Value, other: Value, frame: StackFrame,
        left: cst.BaseExpression | None = None, right: cst.BaseExpression | None = None, in_place: bool = False,
    ) -> Value:  # fmt: skip
        """`one op other`.

        Args:
            op: the name of the function of torch that the operator stands for.
            node: the expression that computes it.
            one: the first operand.
            other: the second operand.
            frame: where evaluation stands.
            left: the expression of the first operand.
            right: the expression of the second operand.
            in_place: whether the first operand is overwritten.
        """
        if isinstance(one, Number) and isinstance(other, Number):
            whole = one.integer and other.integer and op not in ("div", "pow")
            return Number(_fold(op, one.value, other.value), whole)
        if op == "add" and isinstance(one, Items) and isinstance(other, Items):
            return Items(one.items + other.items)
        if op == "mul" and isinstance(one, Items) and isinstance(other, Number):
            return containers.repeated(one)
        region = frame.region
        result: Value
        if op in ("div", "mul") and right is not None and _is_temperature(right, other):
            other = Number()
        if isinstance(one, Tensor) and isinstance(other, Number):
            result = arithmetic.with_number(op, one, other, False, region, node, left)
        elif isinstance(one, Number) and isinstance(other, Tensor):
            result = arithmetic.with_number(op, other, one, True, region, node, right)
        elif isinstance(one, Tensor) and isinstance(other, Tensor):
            result = arithmetic.between(op, one, other, region, node)
        else:
            return unknown(one, other)
        if in_place and isinstance(one, Tensor) and isinstance(result, Tensor):
            result = changed(result, dtype=one.dtype)
        return self.record(op, Arguments((left, right), (one, other)), result, node, frame, in_place)

    def record(
        self,
        op: str,
        arguments: Arguments,
        result: Value,
        node: cst.CSTNode,
        frame: StackFrame,
        in_place: bool = False,
        layer: Layer | None = None,
    ) -> Value:
        """File an operation with its operands, and complete its result by where it stands.

        Args:
            op: the name of the operation (see `Operation`).
            arguments: its operands.
            result: what it gives, as far as that is known from them.
            node: the expression that computes it.
            frame: where evaluation stands.
            in_place: whether the first operand is overwritten.
            layer: the module of `torch.nn` that calls it.
        """
        if not isinstance(result, Tensor):
            return result
        result = _where_it_lies(op, arguments, result, frame.region)
        operation = Operation(node, op, arguments, result.dtype, frame.region, in_place, frame.differentiates, layer)
        if self.is_here(node):
            self.operations.append(operation)
        changes: dict[str, Any] = {}
        if result.made is node:
            changes["maker"] = operation
        if policy(op, "cuda") is Policy.LOWER:
            lowered = frame.region is not None and frame.region.lowers
            if not (lowered or result.sure):  # what an unknown model gives may be float32: normalised embeddings are
                changes["dtype"] = precision.UNKNOWN
            half_at = node if result.half and "dtype" not in changes else None
            changes.update(half_at=half_at, sure=True, through=_narrowed(operation))
        if not frame.differentiates:
            changes.update(detached=True, through=frozenset())
        elif op in arithmetic.FOLLOWED or op in arithmetic.LOG_PROBABILITIES:
            changes["through"] = changes.get("through", result.through) | {GradientFlow(operation)}
        return changed(result, **changes) if changes else result


def _where_it_lies(op: str, arguments: Arguments, result: Tensor, region: Region | None) -> Tensor:
    """The result of an operation on the device of its operands: a region of another device than the CPU lowers nothing there."""
    given = (tensor for value in arguments.all for tensor in tensors(value) if not tensor.zero_dim)
    on_cpu = result.on_cpu if op == "cast" else op != "cuda" and (op in _TO_CPU or any(each.on_cpu for each in given))
    is_spared = on_cpu and result.half and region is not None and region.device not in ("cpu", "?")
    if is_spared and policy(op, "cuda") is Policy.LOWER:
        return changed(result, dtype=precision.UNKNOWN, half_at=None, on_cpu=True)
    return changed(result, on_cpu=on_cpu) if on_cpu is not result.on_cpu else result


def _is_temperature(node: cst.BaseExpression, value: Value) -> bool:
    """Whether something of which nothing but its name is known is a temperature."""
    nothing_known = isinstance(value, Tensor) and told(value) == UNKNOWN
    return nothing_known and vocabulary.TEMPERATURE.search(dotted(node)) is not None


def _narrowed(operation: Operation) -> frozenset[GradientFlow]:
    # A model's own arithmetic is not the loss: what a layer is fed is followed no further, except an exponential that
    # the layer casts down, whose derivative is then no longer the point.
    return frozenset(
        GradientFlow(flow.operation, damped=True)
        for value in operation.operands
        for part in tensors(value)
        for flow in part.through
        if flow.operation.node is part.made and flow.operation.op in arithmetic.EXPONENTIALS
    )


def _fold(op: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    try:
        return _FOLDED[op](left, right) if op in _FOLDED else None
    except (ArithmeticError, ValueError):
        return None
