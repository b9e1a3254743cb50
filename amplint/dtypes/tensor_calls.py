"""The dtype flow through functions and methods of torch."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.dtypes import arithmetic
from amplint.dtypes.expressions import Expressions
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import unknown
from amplint.dtypes.literals import SIZE, joined
from amplint.dtypes.values import UNKNOWN, Arguments, DType, Finfo, Items, Layer, Number, Tensor, Value, tensors
from amplint.model import vocabulary
from amplint.model.records import changed
from amplint.model.torch import precision
from amplint.model.torch.operators import Kind, of_kind
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import is_reference

MODULES = ("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.Tensor")

_CASTS = {**precision.CASTS, "bool": precision.BOOL, "long": precision.INTEGER, "int": precision.INTEGER}
_CREATED = of_kind(Kind.MADE) | {"normal", "from_numpy"}
_LIKE = of_kind(Kind.LIKE)
_INTEGERS = of_kind(Kind.INDEX) | {"multinomial"}
_COMPARING = of_kind(Kind.TRUTH)
_WHOLE = of_kind(Kind.REDUCTION, Kind.EXTREME)
"""Reductions that leave no dimension when nothing says which ones to reduce."""
_ASSUMED_LOW, _ASSUMED_HIGH = 2.0**-10, 8.0
"""Bounds of a `clamp` that are not known: whoever sets some has the range of the values in mind."""
_TUPLES = {"max": 2, "min": 2, "median": 2, "topk": 2, "sort": 2, "std_mean": 2, "var_mean": 2}
_ARITHMETIC = {
    "add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "div", "divide": "div",
    "true_divide": "div", "pow": "pow", "float_power": "pow",
}  # fmt: skip
_ALIASES = {
    "clip": "clamp", "expit": "sigmoid", "softmax2d": "softmax", "concat": "cat", "concatenate": "cat", "hstack": "cat",
    "vstack": "cat", "norm": "norm", "vector_norm": "linalg_vector_norm", "matrix_norm": "linalg_matrix_norm",
    "absolute": "abs", "negative": "neg", "nll_loss2d": "nll_loss", "alpha_dropout": "dropout", "dropout2d": "dropout",
    "clamp_min": "clamp", "clamp_max": "clamp", "__matmul__": "matmul", "dot_product": "dot",
}  # fmt: skip


class TensorCalls(Expressions):
    """What calls of torch give back."""

    def torch_call(
        self, name: str, node: cst.Call, arguments: Arguments, frame: StackFrame, layer: Layer | None = None
    ) -> Value:
        """A function of torch, or a method of a tensor, by its name.

        Args:
            name: the name, without module.
            node: the call.
            arguments: what it is given; the object of a method comes first.
            frame: where evaluation stands.
            layer: the module of `torch.nn` that calls it.
        """
        in_place = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        name = name.rstrip("_") if in_place else name
        name = _ALIASES.get(name, name)
        in_place = in_place or "out" in arguments.keywords
        cast = self._cast(name, node, arguments, frame)
        if cast is not None:
            return cast
        special = self._special(name, node, arguments, frame, in_place)
        if special is not None:
            return special
        first, second = arguments.get(0, "input", "self"), arguments.get(1, "other", "exponent")
        if name in _ARITHMETIC and first is not None and second is not None and not in_place:
            nodes = arguments.node(0, "input", "self"), arguments.node(1, "other", "exponent")
            return self.combine(_ARITHMETIC[name], node, first, second, frame, *nodes)
        if in_place and isinstance(node.func, cst.Attribute) and frame.differentiates:
            self.flow_into(node.func.value, arguments.values[1:], frame)
        result = self._result_of(name, node, arguments, frame, in_place)
        if not isinstance(result, Tensor):
            return result
        recorded = self.record(name, arguments, result, node, frame, in_place, layer)
        return _as_tuple(name, arguments, recorded)

    def _result_of(self, name: str, node: cst.Call, arguments: Arguments, frame: StackFrame, in_place: bool) -> Value:
        parts = _inputs(name, arguments)
        explicit = _explicit(arguments)
        if name in ("stack", "cat"):
            result: Value = joined(parts) if parts else UNKNOWN
            if isinstance(result, Tensor):
                result = result.derived(node)
        elif name in ("where", "lerp"):
            result = arithmetic.where(arguments.get(1) or UNKNOWN, arguments.get(2) or UNKNOWN, node)
        else:
            result = arithmetic.elementwise(name, parts, frame.region, node, in_place=in_place, explicit=explicit)
        if not isinstance(result, Tensor):
            return result
        if name in _WHOLE and len(arguments.values) == 1 and not arguments.keywords:
            result = changed(result, zero_dim=True)
        if name == "sigmoid" and parts:
            result = arithmetic.sigmoid(parts[0], arguments.node(0, "input", "self"), result, node)
        return result

    def _special(
        self, name: str, node: cst.Call, arguments: Arguments, frame: StackFrame, in_place: bool
    ) -> Value | None:
        first = arguments.get(0, "input", "self")
        if name in _CREATED:
            return self.record(name, arguments, _created(name, node, arguments, first), node, frame)
        if name == "finfo":
            return Finfo(first.name if isinstance(first, DType) else precision.UNKNOWN)
        if name in _LIKE:
            dtype = first.dtype if isinstance(first, Tensor) else precision.UNKNOWN
            leaf = Tensor(_explicit(arguments) or dtype, made=node, detached="requires_grad" not in arguments.keywords)
            return self.record(name, arguments, leaf, node, frame)
        if name in _INTEGERS:
            return Tensor(_explicit(arguments) or precision.INTEGER)
        if name in _COMPARING:
            return self.record(name, arguments, arithmetic.truth(node), node, frame)
        if name == "embedding":
            return Tensor(precision.FLOAT32, made=node)
        if name == "item":
            return Number()
        if name in ("size", "dim", "numel", "nelement", "ndimension"):
            return SIZE
        if name == "requires_grad_" and isinstance(first, Tensor):
            return changed(first, detached=False)
        if name == "detach" and isinstance(first, Tensor):
            return changed(first, detached=True, through=frozenset())
        if name == "clamp" and isinstance(first, Tensor):
            bounds = _bounds(node, arguments)
            low, high = _bound(bounds, "min", _ASSUMED_LOW), _bound(bounds, "max", _ASSUMED_HIGH)
            argument = arguments.node(0, "input", "self")
            result = arithmetic.clamped(first, low, high, node, argument)
            return self.record("clamp", bounds, result, node, frame, in_place)
        return None

    def _cast(self, name: str, node: cst.Call, arguments: Arguments, frame: StackFrame) -> Value | None:
        first = arguments.get(0, "input", "self")
        if not isinstance(first, Tensor):
            return None
        dtype = _CASTS.get(name, "")
        if name in ("to", "type", "type_as"):
            first = changed(first, on_cpu=False) if first.on_cpu else first
            dtype = _cast_to(arguments, arguments.nodes)
        if not dtype:
            return first if name in ("to", "type") else None
        if dtype == first.dtype:
            return first
        if dtype == precision.BOOL:
            return self.record("cast", arguments, arithmetic.truth(node), node, frame)
        half_at = node if dtype == precision.FLOAT16 else None
        cured = first.cure if first.saturated is not None else None
        counted = first.dtype in (precision.BOOL, precision.INTEGER)  # no gradient flows to these
        result = changed(
            first, dtype=dtype, half_at=half_at, sure=True, cure=cured, detached=first.detached or counted,
            low=precision.rounded(first.low, dtype), high=precision.rounded(first.high, dtype),
        )  # fmt: skip
        return self.record("cast", arguments, changed(result, made=node), node, frame)


_OF_FIRST = (of_kind(Kind.LAYOUT, Kind.REDUCTION, Kind.EXTREME, Kind.POOL) - {"max", "min"}) | {
    "cross_entropy", "nll_loss", "masked_fill", "unfold", "pad", "broadcast_to", "diag", "diag_embed", "unique",
    "softmax", "log_softmax", "softmin", "cumsum", "cumprod", "normalize", "interpolate", "upsample",
}  # fmt: skip
"""Operations whose other arguments (sizes, dimensions, indices, targets) say nothing about the dtype."""


def _may_reinterpret(name: str, arguments: Arguments) -> bool:
    """Whether the only argument may be a dtype: `x.view(torch.int32)` reads the same bytes as other numbers."""
    given = arguments.all[1:]
    return name == "view" and len(given) == 1 and not isinstance(given[0], (Number, Items))


_SETTINGS = frozenset(
    "reduction size_average reduce dim keepdim ignore_index label_smoothing log_target full eps margin beta delta swap".split()
)
"""Keywords of what is no tensor, whatever gives it its value, and promotes nothing."""


def _inputs(name: str, arguments: Arguments) -> list[Tensor]:
    if _may_reinterpret(name, arguments):
        return []
    if name in _OF_FIRST:
        first = arguments.get(0, "input", "self")
        return [] if first is None else list(tensors(first))
    given = (value for keyword, value in arguments.keywords.items() if keyword not in _SETTINGS)
    return [tensor for value in (*arguments.values, *given) for tensor in tensors(value)]


def _explicit(arguments: Arguments) -> str:
    dtype = arguments.keywords.get("dtype")
    if dtype is None:
        return ""
    return dtype.name if isinstance(dtype, DType) else precision.UNKNOWN


def _cast_to(arguments: Arguments, nodes: Sequence[cst.BaseExpression | None]) -> str:
    """The dtype that `to`, `type` or `type_as` give a tensor; empty where they only move it."""
    for value in (*arguments.values[1:], *arguments.keywords.values()):
        if isinstance(value, DType):
            return value.name
        if isinstance(value, Tensor) and value.dtype != precision.UNKNOWN:
            return value.dtype
    for node in (*nodes[1:], *arguments.keyword_nodes.values()):
        name = node.attr if isinstance(node, cst.Attribute) else node
        if isinstance(name, cst.Name) and "dtype" in name.value.lower():
            return precision.UNKNOWN
    return precision.UNKNOWN if _may_be_like(arguments) else ""


def _may_be_like(arguments: Arguments) -> bool:
    """Whether the only argument of `to` may be another tensor, whose dtype is taken: what it is called says of no device."""
    other = arguments.node(1, "other")
    if not is_reference(other) or len(arguments.all) != 2:
        return False
    names = f"{path_of(other)} {other.attr.value}" if isinstance(other, cst.Attribute) else path_of(other)
    return vocabulary.DEVICE_PLACE.search(names) is None


_NUMPY = ("np.", "numpy.")


def _created(name: str, node: cst.Call, arguments: Arguments, first: Value | None) -> Tensor:
    copied = name in ("tensor", "scalar_tensor") and "requires_grad" not in arguments.keywords
    made = Tensor(_explicit(arguments) or precision.FLOAT32, made=node, detached=copied)
    if name in ("tensor", "as_tensor", "scalar_tensor") and isinstance(first, Number):
        low, high = first.bounds
        given = arguments.node(0, "data")
        of_numpy = isinstance(given, cst.Call) and path_of(given.func).startswith(_NUMPY)  # of an array, perhaps
        return changed(made, low=low, high=high, zero_dim=not of_numpy)
    return changed(made, zero_dim=True) if first == Items(()) and len(arguments.values) == 1 else made


def _as_tuple(name: str, arguments: Arguments, result: Value) -> Value:
    """The results of operations that give back several."""
    dimension = len(arguments.values) > 1 or "dim" in arguments.keywords
    if name in _TUPLES and dimension and isinstance(arguments.get(1, "dim"), Number):
        return Items((result, Tensor(precision.INTEGER)))
    if name in ("chunk", "split", "unbind"):
        count = arguments.get(1, "chunks") if name == "chunk" else None
        if isinstance(count, Number) and count.value is not None and 0 < count.value < 9:
            return Items((result,) * int(count.value))
    return result


def _bounds(node: cst.Call, arguments: Arguments) -> Arguments:
    """The arguments of a `clamp` with its bounds by name, those of `clamp_min` and `clamp_max` too."""
    names = ("max",) if isinstance(node.func, cst.Attribute) and "clamp_max" in node.func.attr.value else ("min", "max")
    values = dict(zip(names, arguments.values[1:])) | arguments.keywords
    nodes = dict(zip(names, (each for each in arguments.nodes[1:] if each is not None))) | arguments.keyword_nodes
    return Arguments(arguments.nodes[:1], arguments.values[:1], values, nodes)


def _bound(bounds: Arguments, name: str, assumed: float) -> float | None:
    """A bound of a `clamp`; what is assumed of one that is not known, and None where there is none."""
    value, node = bounds.keywords.get(name), bounds.keyword_nodes.get(name)
    if isinstance(value, Number) and value.value is not None:
        return value.value
    return None if node is None or isinstance(node, cst.Name) and node.value == "None" else assumed


def no_result(*values: Value) -> Tensor:
    """What an unknown function makes of values: a gradient may flow through it, but its exponentials may be normalised."""
    return arithmetic.damped(unknown(*values))
