"""The calls of which it matters what they give back: rules have something to say of a value that they go into."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.dtypes.arithmetic import FOLLOWED, LOG_PROBABILITIES
from amplint.dtypes.values import Number, Operation, Tensor, Value, tensors
from amplint.model.torch.operators import Kind, of_kind
from amplint.model.torch.precision import FLOAT16, LIMITS, UNKNOWN, lifted

_LOSSES = of_kind(Kind.LOSS) | LOG_PROBABILITIES
"""Operations that rules look at where no region runs them in float32."""
_JUDGED = FOLLOWED | {"binary_cross_entropy"}
"""Operations that rules look at whatever their operands are."""
_TINY, _LARGE = 1e-7, LIMITS[FLOAT16].largest
"""Constants between them are of no concern to float16."""


def asking_calls(
    operations: Iterable[Operation], returned: Iterable[Value], losses: Iterable[Operation]
) -> set[Operation]:
    """The operations, calls among them, that a judged one gets its operands from, or a value that another file asks for.

    Args:
        operations: those of a file of which rules may have something to say.
        returned: the values.
        losses: the calls by which other files compute a loss, of which rules may have something to say there.
    """
    ways = {tensor.through for value in returned for tensor in tensors(value) if _is_guessed(tensor)}
    judged = filter(_is_judged, operations)
    for operation in (*judged, *losses):
        ways.update(tensor.through for tensor in operation.arguments.tensors if _is_guessed(tensor))
    return {flow.operation for way in ways for flow in way if flow.operation.op == "call"}


def _is_guessed(tensor: Tensor) -> bool:
    """Whether nothing tells the dtype of a tensor but that a model has made it, if that."""
    return tensor.dtype == UNKNOWN or not tensor.sure


def _is_judged(operation: Operation) -> bool:
    """Whether rules ask for the dtype of an operand."""
    if operation.op == "call":
        return False
    numbers = (abs(each.value) for each in operation.operands if isinstance(each, Number) and each.value)
    return (
        operation.op in _JUDGED
        or (operation.op in _LOSSES and operation.region is None)
        or (operation.in_place and lifted(operation.op, operation.region))
        or (operation.op == "mul" and len({*operation.operands}) == 1)
        or any(number < _TINY or number > _LARGE for number in numbers)
    )
