"""Values of the dtype flow without their places: what can be said about an argument in another file."""

from __future__ import annotations

import math

from amplint.dtypes.values import UNKNOWN, Items, Number, Record, Tensor, Value
from amplint.model.caller_contexts import Shape

_DEPTH = 4
"""Tuples and dictionaries are looked into so deep."""


def shape_of(value: Value, depth: int = _DEPTH) -> Shape:
    """What another file may know about a value; None for what is not known.

    Args:
        value: any value.
        depth: how deep tuples and dictionaries are looked into.
    """
    if isinstance(value, Tensor):
        known = value.dtype, value.low, value.high, value.sure, value.detached, value.zero_dim
        return ("tensor", *known) if value.dtype != UNKNOWN.dtype or value.low > -math.inf else None
    if isinstance(value, Number):
        return "number", value.value, value.integer
    if isinstance(value, Items) and depth:
        return "items", *(shape_of(item, depth - 1) for item in value.items)
    if isinstance(value, Record) and depth:
        fields = tuple((key, shape_of(each, depth - 1)) for key, each in value.fields)
        return "record", fields, None if value.rest is None else shape_of(value.rest, depth - 1)
    return None


def value_of(shape: Shape) -> Value:
    """A value of which as much is known as a shape says."""
    match shape:
        case ("tensor", dtype, low, high, sure, detached, zero_dim):
            return Tensor(dtype, low, high, sure=sure, detached=detached, zero_dim=zero_dim)
        case ("number", number, integer):
            return Number(number, integer)
        case ("items", *items):
            return Items(tuple(map(value_of, items)))
        case ("record", fields, rest):
            return Record(
                tuple((key, value_of(each)) for key, each in fields), None if rest is None else value_of(rest)
            )
    return UNKNOWN
