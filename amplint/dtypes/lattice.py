"""The lattice of values: what is known where two ways meet, and where nothing but the way of gradients is known."""

from __future__ import annotations

from amplint.dtypes.values import UNKNOWN, Items, Number, Tensor, Value, tensors
from amplint.model.torch import precision


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
    if isinstance(left, Items) and isinstance(right, Items) and len(left.items) == len(right.items):
        return Items(tuple(join_values(one, other) for one, other in zip(left.items, right.items)))
    if isinstance(left, Number) and isinstance(right, Number):
        return Number()
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
        maker=left.maker if left.made is right.made else None,
    )
