"""What the dtype flow knows about a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from amplint.model.torch import precision

if TYPE_CHECKING:
    from amplint.dtypes.operations import Operation


@dataclass(frozen=True)
class Eps:
    """A constant that vanished when it was added to, or clamped on, a half operand."""

    node: cst.CSTNode
    value: float


@dataclass(frozen=True)
class Tensor:
    """A tensor, or something of which nothing is known.

    Attributes:
        dtype: as in `amplint.model.torch.precision`; "?" unknown.
        low, high: every element lies between them, rounding to the dtype included.
        made: the expression that computed it, and `maker` the operation.
        half_at: the expression that brought it to half (a layer, a matmul, a model's call).
        sure: False when half only because the call looks like one of a model; a sigmoid of it is as good as sure, since
            what goes through a sigmoid left a linear layer or a convolution.
        saturated: the half sigmoid whose rounding to exactly 0 or 1 reaches this value.
        cure: the expression whose widening (`.float()`) keeps all that follows in float32.
        lost: the epsilon that vanished in it.
        core: the value that this one equals up to an epsilon or a clamp.
        peak: the value of which this one is the maximum.
        through: the logarithms and exponentials that its gradient flows through.
        detached: no gradient flows through it.
        zero_dim: a tensor without dimensions, which does not widen others.
    """

    dtype: str = precision.UNKNOWN
    low: float = -math.inf
    high: float = math.inf
    made: cst.CSTNode | None = None
    half_at: cst.CSTNode | None = None
    sure: bool = True
    saturated: cst.CSTNode | None = None
    cure: cst.BaseExpression | None = None
    lost: Eps | None = None
    core: cst.CSTNode | None = None
    peak: cst.CSTNode | None = None
    through: frozenset[Flow] = frozenset()
    detached: bool = False
    zero_dim: bool = False
    maker: Operation | None = field(default=None, compare=False, repr=False)

    @property
    def half(self) -> bool:
        """Whether it is float16 for all that is known."""
        return self.dtype == precision.FLOAT16

    def derived(self, node: cst.CSTNode, **changes: Any) -> Tensor:
        """The same value but for `changes`, computed anew by `node`."""
        return replace(self, **{"made": node, "core": node, "peak": None, "maker": None, **changes})

    def placed(self, keep: Callable[[cst.CSTNode], bool]) -> Tensor:
        """The same value without the nodes that are not to be kept."""
        gone: dict[str, Any] = {
            name: None for name in _PLACES if (node := getattr(self, name)) is not None and not keep(node)
        }
        if "made" in gone:
            gone["maker"] = None
        if self.lost is not None and not keep(self.lost.node):
            gone["lost"] = None
        return replace(self, **gone) if gone else self


_PLACES = ("made", "half_at", "saturated", "cure", "core", "peak")
"""The fields of a tensor that are nodes."""


@dataclass(frozen=True)
class Flow:
    """An operation that the gradient of a value flows through; damped when later operations cancel its derivative."""

    operation: Operation
    damped: bool = False


@dataclass(frozen=True)
class Number:
    """A Python number, its value where it is known."""

    value: float | None = None
    integer: bool = False


@dataclass(frozen=True)
class DType:
    """A dtype as a value, such as `torch.float32` or `x.dtype`."""

    name: str


@dataclass(frozen=True)
class Finfo:
    """`torch.finfo` of a dtype."""

    dtype: str


@dataclass(frozen=True)
class Items:
    """A tuple or list of known length."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Layer:
    """A module of `torch.nn`, by class name; a `Sequential` has `parts`."""

    kind: str
    node: cst.CSTNode
    parts: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Function:
    """A function or lambda, with the frame it was defined in and the object it is bound to."""

    node: cst.FunctionDef | cst.Lambda
    closure: object = field(default=None, compare=False)
    bound: Instance | None = None


@dataclass(frozen=True)
class Class:
    """A class."""

    node: cst.ClassDef


@dataclass(eq=False)
class Instance:
    """An object of a class; attributes are filled in as they are assigned."""

    cls: cst.ClassDef
    attributes: dict[str, Value] = field(default_factory=dict)


Value = Tensor | Number | DType | Finfo | Items | Layer | Function | Class | Instance
UNKNOWN = Tensor()


def tensors(value: Value) -> tuple[Tensor, ...]:
    """The tensors in a value, those of a tuple included."""
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, Items):
        return tuple(tensor for item in value.items for tensor in tensors(item))
    return ()


def unknown(*values: Value) -> Tensor:
    """A value of which only is known that gradients may flow through it to these."""
    through = [tensor.through for value in values for tensor in tensors(value) if tensor.through]
    return Tensor(through=frozenset().union(*through)) if through else UNKNOWN


def join(left: Value, right: Value) -> Value:
    """What is known when a value is one of two."""
    if left is right or left == right:
        return left
    if isinstance(left, Items) and isinstance(right, Items) and len(left.items) == len(right.items):
        return Items(tuple(join(one, other) for one, other in zip(left.items, right.items)))
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
