"""The linear layers, or convolutions, of a model in the order in which values run through them, with the sizes they share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.model.records import frozen
from amplint.rule import File

_SEQUENTIAL = frozenset({"torch.nn.Sequential"})
_COMPREHENSIONS = (cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp, cst.For, cst.While)


@frozen
class LayerKind:
    """A kind of layer: what makes it, its first two parameters, the layers between that have the same size, and other layers
    that take what it gives, each with the parameter for that size."""

    makers: frozenset[str]
    fan_in: str
    fan_out: str
    norms: frozenset[str]
    takers: tuple[tuple[str, str], ...] = ()


def _nn(names: str) -> frozenset[str]:
    return frozenset(f"torch.nn.{name}" for name in names.split())


ATTENTIONS = _nn("MultiheadAttention TransformerEncoderLayer TransformerDecoderLayer")
"""Layers whose number of heads must divide their size."""
LINEARS = LayerKind(
    _nn("Linear"),
    "in_features",
    "out_features",
    _nn("BatchNorm1d LayerNorm RMSNorm InstanceNorm1d SyncBatchNorm PReLU"),
    (
        *((name, "input_size") for name in _nn("RNN LSTM GRU")),
        *((name, "embed_dim" if name.endswith("MultiheadAttention") else "d_model") for name in ATTENTIONS),
    ),
)
CONVOLUTIONS = LayerKind(
    _nn("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"),
    "in_channels",
    "out_channels",
    _nn("BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d SyncBatchNorm PReLU"),
)


@frozen
class Size:
    """A size that the file spells out: its value, where it is used, and the literal, which may be that of a constant."""

    value: int
    used: cst.BaseExpression
    literal: cst.Integer


@frozen
class Linear:
    """One `nn.Linear`, or convolution, or a layer that takes what one gives; `container` is the innermost `nn.Sequential` around
    it."""

    node: cst.Call
    fan_in: Size | None
    fan_out: Size | None
    container: cst.Call | None


@frozen
class Hidden:
    """A size that layers of one model share: those that produce it and those that consume it, in order."""

    value: int
    producers: tuple[Linear, ...]
    consumers: tuple[Linear, ...]


class Model:
    """A class, or an `nn.Sequential` outside of any, as a chain of linear layers."""

    def __init__(self, file: File, scope: cst.ClassDef | cst.Call, linears: list[Linear], kind: LayerKind) -> None:
        self.file = file
        self.kind = kind
        self.scope = scope
        self.linears = linears

    @cached_property
    def hidden(self) -> list[Hidden]:
        """The sizes that run from one layer into a later one, in the order of their first producers."""
        edges: dict[int, tuple[list[Linear], list[Linear]]] = {}
        for position, layer in enumerate(self.linears):
            for later in self._consumers(layer, self.linears[position + 1 :]):
                assert layer.fan_out is not None
                producers, consumers = edges.setdefault(layer.fan_out.value, ([], []))
                if layer not in producers:
                    producers.append(layer)
                if later not in consumers:
                    consumers.append(later)
        return [Hidden(value, tuple(producers), tuple(consumers)) for value, (producers, consumers) in edges.items()]

    def _consumers(self, layer: Linear, later: list[Linear]) -> Iterator[Linear]:
        if layer.fan_out is None:
            return
        inside = [other for other in later if other.container is layer.container] if layer.container else []
        for other in inside[:1] or later:
            if other.fan_in is None or other.fan_in.value != layer.fan_out.value:
                continue
            if other.container is layer.container or self._is_first(other):
                yield other

    def _is_first(self, layer: Linear) -> bool:
        """Whether a layer takes what its Sequential is given."""
        return layer.container is None or next(x for x in self.linears if x.container is layer.container) is layer

    def norm_sizes(self, value: int) -> Iterator[Size]:
        """The sizes of normalisation layers that have this value."""
        for call in self.file.tree.inside(self.scope, cst.Call):
            if self.file.names.all_in(call.func, self.kind.norms) and call.args and call.args[0].keyword is None:
                size = size_of(self.file, call.args[0].value)
                if size is not None and size.value == value:
                    yield size


def models(file: File, kind: LayerKind = LINEARS) -> list[Model]:
    """The models of a file that hold layers of a kind."""
    grouped: dict[cst.CSTNode, list[Linear]] = {}
    for call in file.tree.find(cst.Call):
        if not file.names.all_in(call.func, kind.makers | dict(kind.takers).keys()):
            continue
        scope, container, repeated = _place(file, call)
        if scope is not None and not repeated:
            grouped.setdefault(scope, []).append(_linear(file, call, container, kind))
    return [
        Model(file, scope, _in_order_of_use(file, scope, linears), kind)
        for scope, linears in grouped.items()
        if isinstance(scope, (cst.ClassDef, cst.Call))
    ]


def _place(file: File, call: cst.Call) -> tuple[cst.CSTNode | None, cst.Call | None, bool]:
    """The class or outermost Sequential that holds a layer, its innermost Sequential, and whether it is made repeatedly."""
    scope: cst.CSTNode | None = None
    container: cst.Call | None = None
    for above in file.tree.ancestors(call):
        if isinstance(above, _COMPREHENSIONS) and container is None:
            return None, None, True
        if isinstance(above, cst.Call) and file.names.all_in(above.func, _SEQUENTIAL):
            container = container or above
            scope = above
        elif isinstance(above, cst.ClassDef):
            return above, container, False
    return scope, container, False


def _linear(file: File, call: cst.Call, container: cst.Call | None, kind: LayerKind) -> Linear:
    taken = [param for name, param in kind.takers if file.names.any_in(call.func, {name})]
    fan_out = size_argument(file, call, 1, kind.fan_out) if not taken else None
    return Linear(call, size_argument(file, call, 0, taken[0] if taken else kind.fan_in), fan_out, container)


def size_argument(file: File, call: cst.Call, position: int, name: str) -> Size | None:
    """The size that is given to a call at a position, or by name."""
    if any(arg.star for arg in call.args):
        return None
    for index, arg in enumerate(call.args):
        if arg.keyword.value == name if arg.keyword is not None else index == position:
            return size_of(file, arg.value)
    return None


def size_of(file: File, node: cst.BaseExpression) -> Size | None:
    """The size that an expression names: a literal, or a constant that is assigned once."""
    literal = file.integer(node)
    return Size(literal.evaluated_value, node, literal) if literal is not None else None


def _in_order_of_use(file: File, scope: cst.CSTNode, linears: list[Linear]) -> list[Linear]:
    """In the order in which `forward` calls the attributes; as they are made where it does not say."""
    if not isinstance(scope, cst.ClassDef):
        return linears
    forward = file.classes.of(scope).method("forward")
    if forward is None:
        return linears
    order: dict[str, int] = {}
    for call in sorted(file.tree.inside(forward, cst.Call), key=file.tree.end_order):
        if (
            isinstance(call.func, cst.Attribute)
            and isinstance(call.func.value, cst.Name)
            and call.func.value.value == "self"
        ):
            order.setdefault(call.func.attr.value, len(order))
    places = {linear.node: order.get(_attribute(file, linear.node), -1) for linear in linears}
    if -1 in places.values():
        return linears
    return sorted(linears, key=lambda linear: places[linear.node])


def _attribute(file: File, node: cst.CSTNode) -> str:
    assign = file.tree.enclosing(node, cst.Assign, cst.AnnAssign)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) else getattr(assign, "target", None)
    return target.attr.value if isinstance(target, cst.Attribute) else ""
