"""What the operands of an expression are, by how it uses them."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.model.torch import precision
from amplint.runtime.numeric.expression import LAYOUT, Apply, Container, Expression, Operand, short_name

FREE, ORDINARY, GIVEN, INDEX, MASK = "free", "ordinary", "given", "index", "mask"
SETTING, SIZE, DIMENSION = "setting", "size", "dimension"
"""What an operand is: one whose magnitudes are swept; one that is half and that the finding does not depend on; a target or
another value from 0 to 1; indices; flags; a number; the size of the last dimension, and which one that is. Gradients are asked of
the first two."""


def kinds(steps: Sequence[Expression], operands: Sequence[Operand], before: set[int]) -> dict[Operand, str]:
    """What each operand is, by its dtype and by how the expression uses it.

    Args:
        steps: the parts of the expression.
        operands: those of the expression.
        before: the ids of what the finding is computed from.
    """
    used = _uses(steps)
    found = {operand: used.get(id(operand)) or _by_dtype(operand) for operand in operands}
    unsettled = [operand for operand in operands if found[operand] == GIVEN]
    half = [operand for operand in unsettled if operand.dtype in precision.ANY_HALF]
    concerned = [operand for operand in unsettled if id(operand) in before]
    free = (
        [operand for operand in concerned if operand in half]
        or [operand for operand in concerned if operand.dtype == precision.FLOAT32]
        or half
        or concerned
    )
    return found | dict.fromkeys(half, ORDINARY) | dict.fromkeys(free, FREE)


def _by_dtype(operand: Operand) -> str:
    if operand.setting:
        return SETTING
    return {precision.INTEGER: INDEX, precision.BOOL: MASK}.get(operand.dtype, GIVEN)


_INDEXING = {
    "gather": (1, 2), "take_along_dim": (1,), "index_select": (1, 2), "nll_loss": (1,), "cross_entropy": (1,), "one_hot": (0,),
    "scatter": (1, 2), "scatter_add": (1, 2), "take": (1,), "CrossEntropyLoss": (2,), "NLLLoss": (2,),
}  # fmt: skip
_MASKING = {"masked_fill": (1,), "masked_fill_": (1,), "masked_select": (1,), "invert": (0,), "logical_not": (0,), "and_": (0, 1),
            "or_": (0, 1), "getitem": (1,), "setitem": (1,), "where": (0,)}  # fmt: skip


_SIZING = dict.fromkeys(("view", "reshape", "expand"), (1, 2, 3, 4))
"""The operands that say how many elements there are."""
_REDUCING = dict.fromkeys("amax amin mean sum softmax log_softmax logsumexp".split(), (1,))
"""The operands that say along which dimension."""
_PROBABLE = {"binary_cross_entropy": (0, 1), "BCELoss": (1, 2)}
"""The operands that torch wants to lie between 0 and 1: probabilities, and targets."""


def bounds(steps: Sequence[Expression], operands: Sequence[Operand]) -> dict[Operand, tuple[float, float]]:
    """Between what the elements of each operand lie.

    Args:
        steps: the parts of the expression.
        operands: those of the expression.
    """
    found = {operand: (operand.low, operand.high) for operand in operands}
    for step in steps:
        given = step.arguments if isinstance(step, Apply) else ()
        places = _PROBABLE.get(short_name(step.op), ()) if isinstance(step, Apply) else ()
        for inner in (given[each] for each in places if each < len(given)):
            while isinstance(inner, Apply) and (short_name(inner.op) in LAYOUT or short_name(inner.op) == "to"):
                inner = inner.arguments[0]
            if isinstance(inner, Operand):
                found[inner] = max(0.0, inner.low), min(1.0, inner.high)
    return found


def _uses(steps: Sequence[Expression]) -> dict[int, str]:
    used: dict[int, str] = {}
    for step in reversed(steps):
        if not isinstance(step, Apply):
            continue
        name = short_name(step.op)
        for kind, table in ((INDEX, _INDEXING), (MASK, _MASKING), (SIZE, _SIZING), (DIMENSION, _REDUCING)):
            for position in table.get(name, ()):
                if position < len(step.arguments):
                    _use(step.arguments[position], kind, used)
        if name in LAYOUT and id(step) in used and not (name == "cast" and used[id(step)] == MASK):
            _use(step.arguments[0], used[id(step)], used)
    return used


def _use(expression: Expression, kind: str, used: dict[int, str]) -> None:
    used.setdefault(id(expression), kind)
    if isinstance(expression, Container):
        for item in expression.items:
            _use(item, kind, used)
    if isinstance(expression, Apply) and short_name(expression.op) == "to":
        _use(expression.arguments[0], kind, used)
