"""Numbers, sizes and sequences of the dtype flow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import libcst as cst

from amplint.dtypes.lattice import join_values
from amplint.dtypes.values import UNKNOWN, Finfo, Items, Number, Tensor, Value, with_tensors
from amplint.model.records import changed
from amplint.model.torch import precision

SIZE = Number(integer=True)
"""A size, or the shape that sizes are taken from."""


def literal(node: cst.Integer | cst.Float) -> Number:
    """A number that is written out."""
    if type(node) is cst.Float:
        return Number(float(node.value))
    try:
        return Number(float(int(node.value, 0)), True)
    except (OverflowError, ValueError):  # an integer beyond what a float holds, or Python reads
        return Number(None, True)


def spelled_number(call: cst.Call) -> Number | None:
    """The finite number that `float` reads from a text: `float("-1e9")`; None for any other call."""
    named = call.func.value if type(call.func) is cst.Name else ""
    text = call.args[0].value if named == "float" and len(call.args) == 1 else None
    if not isinstance(text, cst.SimpleString):
        return None
    try:
        value = float(text.evaluated_value)
    except ValueError:
        return None
    return Number(value) if math.isfinite(value) else None


def limit(finfo: Finfo, name: str) -> Number:
    """An attribute of `torch.finfo(...)`.

    Args:
        finfo: the object.
        name: the attribute, such as `eps`.
    """
    limits = precision.LIMITS.get(finfo.dtype)
    if limits is None or name not in ("min", "max"):
        return Number()
    return Number(limits.largest if name == "max" else -limits.largest)


def item(items: Items, position: Value | None) -> Value:
    """One of several values, or what is known about all of them.

    Args:
        items: the values.
        position: the index; None where it is not known.
    """
    index = position.value if isinstance(position, Number) else None
    if index is None or not -len(items.items) <= index < len(items.items):
        return joined(items.items)
    return items.items[int(index)]


def joined(values: Sequence[Value]) -> Value:
    """What is known about one of several values."""
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join_values(result, value)
    return result


def given_back(values: Sequence[Value]) -> Value:
    """What is known about what a function returns: several values in training, say, and one of them elsewhere, where its callers
    can only unpack the several.

    Args:
        values: those of its returns.
    """
    several = [each for each in values if isinstance(each, Items) and len(each.items) > 1]
    single = [each for each in values if isinstance(each, Tensor)]
    if not several or not single or len(several) + len(single) < len(values):
        return joined(values)
    through = frozenset(flow for each in single for flow in each.through)
    return with_tensors(joined(several), lambda each: changed(each, through=each.through | through))
