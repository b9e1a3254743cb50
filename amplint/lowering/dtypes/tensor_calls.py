"""The dtype flow through functions and methods of torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from amplint.lowering.dtypes import arithmetic
from amplint.lowering.dtypes.expressions import Expressions, joined
from amplint.lowering.dtypes.frames import Frame
from amplint.lowering.dtypes.values import UNKNOWN, DType, Items, Number, Tensor, Value, tensors, unknown
from amplint.model import precision

MODULES = ("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.Tensor")

_CASTS = {"float": "float32", "half": "float16", "bfloat16": "bfloat16", "double": "float64", "bool": "bool", "long": "int",
          "int": "int"}  # fmt: skip
_CREATED = frozenset(
    "zeros ones empty full rand randn eye linspace logspace tensor as_tensor normal hann_window from_numpy scalar_tensor".split()
)
_LIKE = frozenset(
    "zeros_like ones_like empty_like full_like rand_like randn_like new_zeros new_ones new_full new_tensor".split()
)
_INTEGERS = frozenset("arange randint randperm argmax argmin argsort nonzero bincount one_hot multinomial".split())
_COMPARING = frozenset("eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not any all".split())
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


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call: expressions and their values, by position and keyword; a method's object comes first."""

    nodes: tuple[cst.BaseExpression, ...]
    values: tuple[Value, ...]
    keywords: dict[str, Value]
    keyword_nodes: dict[str, cst.BaseExpression]

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
    def tensors(self) -> list[Tensor]:
        """All tensors among them."""
        return [tensor for value in (*self.values, *self.keywords.values()) for tensor in tensors(value)]


class TensorCalls(Expressions):
    """What calls of torch give back."""

    def torch_call(self, name: str, node: cst.Call, arguments: Arguments, frame: Frame) -> Value:
        """A function of torch, or a method of a tensor, by its name."""
        in_place = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        name = name.rstrip("_") if in_place else name
        name = _ALIASES.get(name, name)
        in_place = in_place or "out" in arguments.keywords
        cast = self._cast(name, node, arguments, frame)
        if cast is not None:
            return cast
        special = self._special(name, node, arguments, frame)
        if special is not None:
            return special
        first, second = arguments.get(0, "input", "self"), arguments.get(1, "other", "exponent")
        if name in _ARITHMETIC and first is not None and second is not None and not in_place:
            nodes = arguments.node(0, "input", "self"), arguments.node(1, "other", "exponent")
            return self.combine(_ARITHMETIC[name], node, first, second, frame, *nodes)
        return self._plain(name, node, arguments, frame, in_place)

    def _plain(self, name: str, node: cst.Call, arguments: Arguments, frame: Frame, in_place: bool) -> Value:
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
        if name in ("sum", "mean") and len(arguments.values) == 1 and not arguments.keywords:
            result = replace(result, zero_dim=True)
        if name == "sigmoid" and parts:
            result = arithmetic.sigmoid(parts[0], arguments.node(0, "input", "self"), result, node)
        recorded = self.record(name, (*arguments.values, *arguments.keywords.values()), result, node, frame, in_place)
        dimension = len(arguments.values) > 1 or "dim" in arguments.keywords
        if name in _TUPLES and dimension and isinstance(arguments.get(1, "dim"), Number):
            return Items((recorded, Tensor(precision.INTEGER)))
        if name in ("chunk", "split", "unbind"):
            count = arguments.get(1, "chunks") if name == "chunk" else None
            if isinstance(count, Number) and count.value is not None and 0 < count.value < 9:
                return Items((recorded,) * int(count.value))
        return recorded

    def _special(self, name: str, node: cst.Call, arguments: Arguments, frame: Frame) -> Value | None:
        first = arguments.get(0, "input", "self")
        if name in _CREATED:
            return Tensor(_explicit(arguments) or precision.FLOAT32, made=node)
        if name in _LIKE:
            dtype = first.dtype if isinstance(first, Tensor) else precision.UNKNOWN
            return Tensor(_explicit(arguments) or dtype, made=node)
        if name in _INTEGERS:
            return Tensor(_explicit(arguments) or precision.INTEGER)
        if name in _COMPARING:
            return Tensor(precision.BOOL)
        if name == "embedding":
            return Tensor(precision.FLOAT32, made=node)
        if name == "item":
            return Number()
        if name == "detach" and isinstance(first, Tensor):
            return replace(first, detached=True, through=frozenset())
        if name == "clamp" and isinstance(first, Tensor):
            low, high = _clamp_bounds(node, arguments)
            argument = arguments.node(0, "input", "self")
            return self.record(
                "clamp", arguments.values, arithmetic.clamped(first, low, high, node, argument), node, frame
            )
        return None

    def _cast(self, name: str, node: cst.Call, arguments: Arguments, frame: Frame) -> Value | None:
        first = arguments.get(0, "input", "self")
        if not isinstance(first, Tensor):
            return None
        dtype = _CASTS.get(name, "")
        if name in ("to", "type", "type_as"):
            dtype = _cast_to(arguments, arguments.nodes)
        if not dtype:
            return first if name in ("to", "type") else None
        if dtype == first.dtype:
            return first
        half_at = node if dtype == precision.FLOAT16 else None
        cured = first.cure if first.saturated is not None else None
        result = replace(
            first, dtype=dtype, half_at=half_at, sure=True, cure=cured,
            low=precision.rounded(first.low, dtype), high=precision.rounded(first.high, dtype),
        )  # fmt: skip
        return self.record("cast", (first,), result, node, frame)


def _inputs(name: str, arguments: Arguments) -> list[Tensor]:
    if name in ("cross_entropy", "nll_loss", "gather", "index_select", "take_along_dim", "masked_fill", "dropout"):
        return [tensor for value in arguments.values[:1] for tensor in tensors(value)]
    return arguments.tensors


def _explicit(arguments: Arguments) -> str:
    dtype = arguments.keywords.get("dtype")
    if dtype is None:
        return ""
    return dtype.name if isinstance(dtype, DType) else precision.UNKNOWN


def _cast_to(arguments: Arguments, nodes: Sequence[cst.BaseExpression]) -> str:
    for value in (*arguments.values[1:], *arguments.keywords.values()):
        if isinstance(value, DType):
            return value.name
        if isinstance(value, Tensor) and value.dtype != precision.UNKNOWN:
            return value.dtype
    for node in (*nodes[1:], *arguments.keyword_nodes.values()):
        name = node.attr if isinstance(node, cst.Attribute) else node
        if isinstance(name, cst.Name) and "dtype" in name.value.lower():
            return precision.UNKNOWN
    return ""


def _clamp_bounds(node: cst.Call, arguments: Arguments) -> tuple[float | None, float | None]:
    called = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
    low, high = arguments.get(1, "min"), arguments.get(2, "max")
    if called.startswith("clamp_max"):
        low, high = None, arguments.get(1, "max")
    return _number(low), _number(high)


def _number(value: Value | None) -> float | None:
    return value.value if isinstance(value, Number) else None


def no_result(*values: Value) -> Tensor:
    """What an unknown function makes of values: a gradient may flow through it, but its exponentials may be normalised."""
    return arithmetic.damped(unknown(*values))
