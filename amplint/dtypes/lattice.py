"""The lattice of values: what is known where two ways meet, and where nothing but the way of gradients is known."""

from __future__ import annotations

from amplint.dtypes.values import (
    NOTHING,
    UNKNOWN,
    Choice,
    Class,
    Closure,
    FromLibrary,
    Instance,
    Items,
    Layer,
    Number,
    Record,
    Tensor,
    Value,
    tensors,
)
from amplint.model.torch import precision

_CALLED = (Layer, Closure, Class, FromLibrary, Instance, Choice)
"""Values that are called."""
_MAX_OPTIONS = 6
"""Of more modules or functions than these nothing is known: each is followed at every call."""


def unknown(*values: Value) -> Tensor:
    """A value of which only is known that gradients may flow through it to these."""
    through = [tensor.through for value in values for tensor in tensors(value) if tensor.through]
    return Tensor(through=frozenset().union(*through)) if through else UNKNOWN


def join_values(left: Value, right: Value) -> Value:
    """What is known when a value is one of two.

    Args:
        left: one of them.
        right: the other one.
    """
    if left is right or left == right:
        return left
    if (left is NOTHING or right is NOTHING) and not (isinstance(left, _CALLED) or isinstance(right, _CALLED)):
        # Nothing is computed from `None`: where it is used, it is the other one.
        return right if left is NOTHING else left
    if isinstance(left, Items) and isinstance(right, Items):
        shared = [join_values(one, other) for one, other in zip(left.items, right.items)]
        if len(left.items) == len(right.items):
            return Items(tuple(shared))
        longer = max(left.items, right.items, key=len)
        if longer[: len(shared)] == tuple(shared):  # a list that grows in a loop, or under a condition
            return Items(longer)
    if isinstance(left, Number) and isinstance(right, Number):
        return Number()
    if isinstance(left, Record) and isinstance(right, Record):
        return _join_records(left, right)
    if isinstance(left, _CALLED) or isinstance(right, _CALLED):
        return _one_of(left, right)
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        return unknown(left, right)
    same = left.dtype == right.dtype
    return Tensor(
        dtype=left.dtype if same else precision.UNKNOWN,
        low=min(left.low, right.low),
        high=max(left.high, right.high),
        made=left.made if left.made is right.made else None,
        half_at=left.half_at or right.half_at if same else None,
        sure=left.sure and right.sure,
        saturated=left.saturated or right.saturated,
        cure=left.cure
        if left.cure is right.cure or not right.saturated
        else right.cure
        if not left.saturated
        else None,
        lost=left.lost or right.lost,
        core=left.core if left.core is right.core else None,
        peak=left.peak if left.peak is right.peak else None,
        through=left.through | right.through,
        detached=left.detached and right.detached,
        zero_dim=left.zero_dim and right.zero_dim,
        on_cpu=left.on_cpu and right.on_cpu,
        maker=left.maker if left.made is right.made else None,
    )


def read(value: Value) -> Value:
    """What is known of a value that is read: where only `None` was seen, something else is assigned out of sight."""
    return UNKNOWN if value is NOTHING else value


def _join_records(left: Record, right: Record) -> Record:
    """One of two dictionaries; a key that only one of them has is read only where it is there."""
    one, other = dict(left.fields), dict(right.fields)
    fields = {
        key: join_values(one[key], other[key]) if key in one and key in other else (one | other)[key]
        for key in (*one, *other)
    }
    rests = [each for each in (left.rest, right.rest) if each is not None]
    return Record(tuple(fields.items()), join_values(rests[0], rests[-1]) if rests else None)


def _one_of(*values: Value) -> Value:
    options: dict[Value, None] = {}
    for value in values:
        for option in value.options if isinstance(value, Choice) else (value,):
            if isinstance(option, _CALLED) or option is NOTHING:
                options[option] = None
            elif tensors(option) and any(each.dtype != precision.UNKNOWN or each.through for each in tensors(option)):
                return unknown(*values)
            else:
                options[UNKNOWN] = None
    return Choice(tuple(options)) if len(options) <= _MAX_OPTIONS else UNKNOWN
