"""What the dtype flow files: operations, with what they were given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import libcst as cst

from amplint.dtypes.values import UNKNOWN, Layer, Tensor, Value, tensors
from amplint.model.events import Region


@dataclass(frozen=True)
class Arguments:
    """What a call or an operator is given: expressions and their values, by position and keyword; a method's object, like
    the left side of an operator, comes first."""

    nodes: tuple[cst.BaseExpression | None, ...] = ()
    values: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    keyword_nodes: dict[str, cst.BaseExpression] = field(default_factory=dict)

    def get(self, position: int, *names: str) -> Value | None:
        """An argument by position or keyword."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.values[position] if position < len(self.values) else None

    def node(self, position: int, *names: str) -> cst.BaseExpression | None:
        """The expression of an argument."""
        for name in names:
            if name in self.keyword_nodes:
                return self.keyword_nodes[name]
        return self.nodes[position] if position < len(self.nodes) else None

    def of_method(self, node: cst.BaseExpression, value: Value) -> Arguments:
        """The same arguments, those of a method of an object."""
        return replace(self, nodes=(node, *self.nodes), values=(value, *self.values))

    @property
    def all(self) -> tuple[Value, ...]:
        """Every value, positions first."""
        return (*self.values, *self.keywords.values())

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors among them."""
        return [tensor for value in self.all for tensor in tensors(value)]


@dataclass(frozen=True, eq=False)
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
