"""What the dtype flow knows about a value, and about the operation that made it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from amplint.model.events import Region
from amplint.model.records import changed, frozen
from amplint.model.torch import precision


@frozen
class Eps:
    """A constant that vanished when it was added to, or clamped on, a half operand."""

    node: cst.CSTNode
    value: float


@frozen
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
        on_cpu: it lies in the memory of the CPU, whatever the device of the region.
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
    through: frozenset[GradientFlow] = frozenset()
    detached: bool = False
    zero_dim: bool = False
    on_cpu: bool = False
    maker: Operation | None = field(default=None, compare=False, repr=False)

    @property
    def half(self) -> bool:
        """Whether it is float16 for all that is known."""
        return self.dtype == precision.FLOAT16

    def derived(self, node: cst.CSTNode, **changes: Any) -> Tensor:
        """The same value but for some fields, computed anew.

        Args:
            node: the expression that computes it.
            **changes: the fields that are different.
        """
        return changed(self, **{"made": node, "core": node, "peak": None, "maker": None, **changes})

    def maybe_widened(self) -> Tensor:
        """The same value where a library may have made float32 of it."""
        return changed(self, dtype=precision.UNKNOWN, half_at=None) if self.dtype in precision.ANY_HALF else self

    def placed(self, keep: Callable[[cst.CSTNode], bool]) -> Tensor:
        """The same value without the nodes that are not to be kept."""
        gone: dict[str, Any] = {
            name: None for name in _PLACES if (node := getattr(self, name)) is not None and not keep(node)
        }
        if "made" in gone:
            gone["maker"] = None
        if self.lost is not None and not keep(self.lost.node):
            gone["lost"] = None
        return changed(self, **gone) if gone else self


_PLACES = ("made", "half_at", "saturated", "cure", "core", "peak")
"""The fields of a tensor that are nodes."""


@frozen
class GradientFlow:
    """An operation that the gradient of a value flows through; damped when later operations cancel its derivative."""

    operation: Operation
    damped: bool = False


@frozen
class Number:
    """A Python number: its value where it is known, and how large it can be, whatever its sign, where it is not."""

    value: float | None = None
    integer: bool = False
    reach: float = math.inf

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers it lies."""
        return (-self.reach, self.reach) if self.value is None else (self.value, self.value)


@frozen
class GivenText:
    """A text that a constructor is given, by which it may choose what it makes."""

    value: str


@frozen
class GivenFlag:
    """A truth that a constructor is given, or left at, by which its object may choose what it does."""

    truth: bool


@frozen
class DType:
    """A dtype as a value, such as `torch.float32` or `x.dtype`."""

    name: str


@frozen
class Finfo:
    """`torch.finfo` of a dtype."""

    dtype: str


@frozen
class Items:
    """A tuple or list of known length."""

    items: tuple[Value, ...]


@frozen
class Layer:
    """A module of `torch.nn`, by class name; a `Sequential` has `parts`."""

    kind: str
    node: cst.CSTNode
    parts: tuple[Value, ...] = ()


@frozen
class Closure:
    """A function or lambda, with the frame it was defined in and the object it is bound to."""

    node: cst.FunctionDef | cst.Lambda
    closure: object = field(default=None, compare=False)
    bound: Instance | None = None


@frozen
class Class:
    """A class."""

    node: cst.ClassDef


@frozen
class FromLibrary:
    """A function or a class of torch that a name or a parameter holds: `act_layer=nn.GELU`."""

    meaning: str


@dataclass(eq=False)
class Instance:
    """An object of a class; attributes are filled in as they are assigned."""

    cls: cst.ClassDef
    attributes: dict[str, Value] = field(default_factory=dict)


@frozen
class Record:
    """A dictionary: what it holds under the keys that are known, and under others (None for nothing)."""

    fields: tuple[tuple[str, Value], ...] = ()
    rest: Value | None = None


@frozen
class Nothing:
    """`None` in the place of a module or function: no way that goes on calls it."""


@frozen
class Choice:
    """One of several modules, functions or classes, or something unknown; which one, a run decides."""

    options: tuple[Value, ...]

    @property
    def used(self) -> tuple[Value, ...]:
        """The options that code may go on with: all but `None`."""
        return tuple(option for option in self.options if option is not NOTHING)


Value = (
    Tensor
    | Number
    | GivenText
    | GivenFlag
    | DType
    | Finfo
    | Items
    | Layer
    | Closure
    | Class
    | FromLibrary
    | Instance
    | Record
    | Nothing
    | Choice
)
UNKNOWN = Tensor()
NOTHING = Nothing()


def told(value: Value) -> Value:
    """A value as far as it decides what a function makes of it: of something of which nothing is known, not even its place."""
    if isinstance(value, Tensor) and value.made is not None and changed(value, made=None, core=None) == UNKNOWN:
        return UNKNOWN
    return value


def tensors(value: Value) -> tuple[Tensor, ...]:
    """The tensors in a value, those of a tuple or a dictionary included."""
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, Items):
        return tuple(tensor for item in value.items for tensor in tensors(item))
    if isinstance(value, Record):
        held = (*(each for _, each in value.fields), *(() if value.rest is None else (value.rest,)))
        return tuple(tensor for item in held for tensor in tensors(item))
    return ()


def with_tensors(value: Value, change: Callable[[Tensor], Tensor]) -> Value:
    """A value in which each tensor is another one, those of a tuple or a dictionary included.

    Args:
        value: the value.
        change: gives the tensor that stands for one.
    """
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Items):
        return Items(tuple(with_tensors(item, change) for item in value.items))
    if isinstance(value, Record):
        fields = tuple((key, with_tensors(each, change)) for key, each in value.fields)
        return Record(fields, None if value.rest is None else with_tensors(value.rest, change))
    return value


@frozen
class Arguments:
    """What a call or an operator is given: expressions and their values, by position and keyword; a method's object, like
    the left side of an operator, comes first. Of some expressions the constants are known that they are: None, True, False.
    `written` says that a call in sight gives these, and leaves other parameters at their defaults."""

    nodes: tuple[cst.BaseExpression | None, ...] = ()
    values: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    keyword_nodes: dict[str, cst.BaseExpression] = field(default_factory=dict)
    constants: dict[cst.BaseExpression, str] = field(default_factory=dict)
    written: bool = False

    def get(self, position: int, *names: str) -> Value | None:
        """An argument by position or keyword.

        Args:
            position: the index among the positional arguments.
            *names: the keywords that it may be given by.
        """
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.values[position] if position < len(self.values) else None

    @property
    def said(self) -> tuple[tuple[int | str, str], ...]:
        """The constants among the arguments, by position or keyword."""
        if not self.constants:
            return ()
        given: list[tuple[int | str, cst.BaseExpression | None]] = [*enumerate(self.nodes), *self.keyword_nodes.items()]
        return tuple(
            (place, self.constants[node]) for place, node in given if node is not None and node in self.constants
        )

    def node(self, position: int, *names: str) -> cst.BaseExpression | None:
        """The expression of an argument.

        Args:
            position: the index among the positional arguments.
            *names: the keywords that it may be given by.
        """
        for name in names:
            if name in self.keyword_nodes:
                return self.keyword_nodes[name]
        return self.nodes[position] if position < len(self.nodes) else None

    def of_method(self, node: cst.BaseExpression, value: Value) -> Arguments:
        """The same arguments, those of a method of an object.

        Args:
            node: the expression of the object.
            value: the object.
        """
        return changed(self, nodes=(node, *self.nodes), values=(value, *self.values))

    @property
    def spread(self) -> tuple[Value, ...]:
        """What stands behind a `*` or a `**` and has no position and no keyword, or may have any."""
        spread = self.keywords.get("*")
        return spread.items if isinstance(spread, Items) else ()

    @property
    def all(self) -> tuple[Value, ...]:
        """Every value, positions first."""
        return (*self.values, *self.keywords.values())

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors among them."""
        return [tensor for value in self.all for tensor in tensors(value)]


NO_ARGUMENTS = Arguments()


@dataclass(eq=False)
class Operation:
    """One evaluation of an operation.

    The same node is evaluated once for each way in which the file reaches it.

    Attributes:
        op: the name of the function of torch without its module; also "cast", "setitem" (`x[i] = y`), and "call" for a
            function that is not known.
        dtype: that of the result.
        region: the autocast region in effect, None outside of any.
        in_place: an in-place or `out=` form, which autocast does not touch.
        differentiates: whether gradients are recorded where it stands.
        layer: the module of `torch.nn` that runs it.
    """

    node: cst.CSTNode
    op: str
    arguments: Arguments
    dtype: str
    region: Region | None
    in_place: bool = False
    differentiates: bool = True
    layer: Layer | None = None

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values of its arguments."""
        return self.arguments.all

    @property
    def operand(self) -> Tensor:
        """The first operand that is a tensor."""
        return next(iter(self.arguments.tensors), UNKNOWN)
