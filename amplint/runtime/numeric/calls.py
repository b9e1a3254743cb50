"""Reading calls: operations of the closed list, functions of the file, and values from outside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import DType, Instance, Layer, Tensor
from amplint.model.torch import precision
from amplint.model.torch.layers import LAYERS
from amplint.runtime.numeric import operations
from amplint.runtime.numeric.expression import (
    Apply,
    Container,
    Expression,
    Literal,
    Operand,
    Outside,
    Thing,
    is_raw,
)  # fmt: skip
from amplint.runtime.numeric.sources import BodyScope
from amplint.runtime.numeric.terms import Terms
from amplint.syntax.names import dotted
from amplint.syntax.nodes import is_reference

_MODULES = {
    "torch": "torch", "torch.nn.functional": "functional", "torch.special": "special", "torch.linalg": "linalg",
    "torch.Tensor": "Tensor", "builtins": "builtins", "math": "math",
}  # fmt: skip
_MAX_DEPTH = 8


@dataclass(frozen=True)
class GivenValues:
    """What a call is given, by position and by keyword."""

    arguments: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()

    @property
    def all(self) -> tuple[Expression, ...]:
        """All of it, in the order of the call."""
        return (*self.arguments, *(value for _, value in self.keywords))

    def without(self, *names: str) -> tuple[tuple[str, Expression], ...]:
        """The keywords but these."""
        return tuple((name, value) for name, value in self.keywords if name not in names)


class CallTerms(Terms):
    """Reads calls; bodies are left to the floor above."""

    @abstractmethod
    def body(self, frame: StackFrame, held: dict[str, Expression]) -> Expression:
        """What a function of the file gives back when its parameters hold these.

        Args:
            frame: the evaluation of the function, as the dtype flow has it.
            held: what its parameters hold.
        """

    def call(self, node: cst.Call, scope: BodyScope) -> Expression:
        if any(arg.star for arg in node.args):
            return self.unlisted(node, (), scope)
        given = self._read_given(node, scope)
        inner = self.facts.callee(node, scope.frame)
        made = self.facts.seen(node, scope.frame).value
        if isinstance(made, (Instance, Layer)):
            return Thing(made)
        if inner is not None:
            return self._inlined(node, inner, given, scope)
        meanings = self.facts.names.resolve(node.func)
        module, _, name = (next(iter(meanings)) if len(meanings) == 1 else "").rpartition(".")
        if module in _MODULES:
            return self.function(node, f"{_MODULES[module]}.{name}", given, scope)
        layer = self._layer(node.func, scope)
        if layer is not None:
            return self._through(layer, node, given, scope)
        if isinstance(node.func, cst.Attribute):
            return self.method(node, node.func, given, scope)
        return self.unlisted(node, given.all, scope)

    def _read_given(self, node: cst.Call, scope: BodyScope) -> GivenValues:
        positional = tuple(self.read(arg.value, scope) for arg in node.args if arg.keyword is None)
        named = ((arg.keyword.value, self.read(arg.value, scope)) for arg in node.args if arg.keyword is not None)
        # Which reduction an option chooses is not known: the loss has a default.
        told = ((name, value) for name, value in named if name != "reduction" or not isinstance(value, Operand))
        return GivenValues(positional, tuple(told))

    # -- functions of the file -----------------------------------------------------------------------------------------

    def _inlined(self, node: cst.Call, inner: StackFrame, given: GivenValues, scope: BodyScope) -> Expression:
        function = inner.scope
        assert isinstance(function, (cst.FunctionDef, cst.Lambda))
        result: Expression = Outside(self.words(node.func))
        if inner.depth - scope.frame.depth <= _MAX_DEPTH and inner is not scope.frame:
            result = self.body(inner, self._bound(function, inner, given))
        if isinstance(result, Outside) and all(map(is_raw, given.all)):
            return self.unlisted(node, given.all, scope, result.what)
        return result

    def _bound(
        self, function: cst.FunctionDef | cst.Lambda, inner: StackFrame, given: GivenValues
    ) -> dict[str, Expression]:
        keywords = dict(given.keywords)
        params = [*function.params.posonly_params, *function.params.params]
        held: dict[str, Expression] = {}
        if inner.this is not None and len(params) and params[0].name.value == "self":
            held["self"] = Thing(inner.this)
            params = params[1:]
        for position, param in enumerate([*params, *function.params.kwonly_params]):
            name = param.name.value
            if position < len(params) and position < len(given.arguments):
                held[name] = given.arguments[position]
            elif name in keywords:
                held[name] = keywords[name]
            elif param.default is not None:
                held[name] = self.read(param.default, BodyScope(inner))
        return held

    # -- torch ---------------------------------------------------------------------------------------------------------

    def function(self, node: cst.Call, op: str, given: GivenValues, scope: BodyScope) -> Expression:
        source, _, name = op.rpartition(".")
        arguments = given.arguments
        if op == "builtins.sum" and len(arguments) == 1 and isinstance(arguments[0], Container):
            return self._total(arguments[0], node, scope)
        if op == "builtins.abs" and not all(isinstance(each, Literal) for each in arguments):
            op = "torch.abs"
        if source in ("builtins", "math") or op == "torch.finfo":
            if given.keywords or not operations.listed(op):
                return self.unlisted(node, given.all, scope)
            return self.folded(op, arguments) or self.apply(op, arguments, (), node, scope)
        if name in operations.UNMOVED and arguments:
            return arguments[0]
        if source == "torch" and name.endswith("_") and arguments:
            return self._of_tensor(name, arguments[0], node, GivenValues(arguments[1:], given.keywords), scope)
        if not operations.listed(op):
            return self.unlisted(node, given.all, scope)
        result = self.apply(op, arguments, given.without("device", "non_blocking", "pin_memory"), node, scope)
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value == "out":
                self._write(arg.value, result, scope)
        return result

    @staticmethod
    def _write(target: cst.BaseExpression, result: Expression, scope: BodyScope) -> None:
        """What an operation writes to holds its result."""
        if dotted(target):
            scope.held[dotted(target)] = result

    def _total(self, items: Container, node: cst.Call, scope: BodyScope) -> Expression:
        total: Expression = items.items[0] if items.items else Literal(0)
        for item in items.items[1:]:
            total = self.operator("add", (total, item), node, scope)
        return total

    def method(self, node: cst.Call, func: cst.Attribute, given: GivenValues, scope: BodyScope) -> Expression:
        name, arguments = func.attr.value, given.arguments
        base = self.read(func.value, scope)
        if name == "scale" and len(arguments) == 1 and isinstance(base, (Operand, Thing)):
            self.scaled[id(arguments[0])] = arguments[0]
            return arguments[0]  # a scaler: the gradients that are compared are those of the loss itself
        if isinstance(base, Outside):
            return base
        if name == "append" and isinstance(base, Container) and len(arguments) == 1:
            scope.held[dotted(func.value)] = Container((*base.items, arguments[0]), True)
            return Literal(None)
        if name == "item" and isinstance(base, (Apply, Operand)):
            detached = self.apply("Tensor.detach", (base,), (), node, scope)
            return self.apply("cast.to", (detached, Literal(DType(precision.FLOAT64))), (), node, scope)
        if isinstance(base, (Thing, Literal, Container)):
            return self.unlisted(node, given.all, scope)
        return self._of_tensor(name, base, node, given, scope)

    def _of_tensor(
        self, name: str, base: Expression, node: cst.Call, given: GivenValues, scope: BodyScope
    ) -> Expression:
        if name in operations.UNMOVED:
            return base
        if name in operations.CASTS and not given.arguments:
            return self.apply("cast.to", (base, Literal(DType(operations.CASTS[name]))), (), node, scope)
        if name in ("to", "type", "type_as"):
            return self._cast(base, given.all, node, scope)
        op = f"Tensor.{name}"
        known = not isinstance(base, Operand) or base.dtype != precision.UNKNOWN or not name.endswith("_")
        if not (known and operations.listed(op)):
            return self.unlisted(node, (base, *given.all), scope)
        result = self.apply(op, (base, *given.arguments), given.without("device", "non_blocking"), node, scope)
        if name.endswith("_"):
            if len(node.args) > len(given.all):  # a function, whose first argument is the tensor
                self._write(node.args[0].value, result, scope)
            elif isinstance(node.func, cst.Attribute):
                self._write(node.func.value, result, scope)
        return result

    def _cast(self, base: Expression, arguments: Sequence[Expression], node: cst.Call, scope: BodyScope) -> Expression:
        """`x.to(...)`: only the dtype of what is asked for counts, wherever tensors live."""
        for target in arguments:
            if isinstance(target, Literal) and isinstance(target.value, DType):
                return self.apply("cast.to", (base, target), (), node, scope)
            if isinstance(target, Apply) and target.op == "attribute.dtype":
                return self.apply("cast.to", (base, target), (), node, scope)
            if isinstance(target, Apply) or (isinstance(target, Operand) and target.dtype != precision.UNKNOWN):
                seen = self.facts.seen(node, scope.frame)
                dtype = Apply("attribute.dtype", (target,), (), seen.region, seen.graded, node)
                return self.apply("cast.to", (base, dtype), (), node, scope)
        return base

    # -- layers, and what is not listed --------------------------------------------------------------------------------

    def _layer(self, func: cst.BaseExpression, scope: BodyScope) -> Layer | None:
        if isinstance(func, cst.Call) and isinstance(made := self.facts.seen(func, scope.frame).value, Layer):
            return made
        found = self.read(func, scope) if is_reference(func) else None
        return found.value if isinstance(found, Thing) and isinstance(found.value, Layer) else None

    def _through(self, layer: Layer, node: cst.Call, given: GivenValues, scope: BodyScope) -> Expression:
        arguments = given.arguments
        if layer.kind == "Sequential":
            value: Expression = arguments[0] if arguments else Outside("nn.Sequential")
            for part in layer.parts:
                if not isinstance(part, Layer):
                    return self.unlisted(node, arguments, scope)
                value = self._through(part, node, GivenValues((value,)), scope)
            return value
        if layer.kind not in operations.LAYERS:
            return self._from_weights(node, scope)
        if LAYERS[layer.kind] in operations.UNMOVED:
            return arguments[0] if arguments else Outside(f"nn.{layer.kind}")
        assert isinstance(layer.node, cst.Call)
        made = self._read_given(layer.node, BodyScope(self.facts.frames[0]))
        if not all(isinstance(each, Literal) for each in made.all):
            return Outside(f"nn.{layer.kind}")
        names = tuple(name for name, _ in made.keywords)
        named = Container(tuple(value for _, value in made.keywords), keys=names)
        setup = Container((Container(made.arguments), named))
        return self.apply(f"nn.{layer.kind}", (setup, *arguments), given.keywords, node, scope)

    def _from_weights(self, node: cst.Call, scope: BodyScope) -> Expression:
        seen = self.facts.seen(node, scope.frame)
        dtype = seen.value.dtype if isinstance(seen.value, Tensor) else precision.UNKNOWN
        if dtype == precision.UNKNOWN:
            dtype = seen.region.dtype if seen.region is not None else precision.FLOAT32
        return self.from_outside(node, scope, dtype=dtype)

    def unlisted(self, node: cst.Call, arguments: Sequence[Expression], scope: BodyScope, what: str = "") -> Expression:
        """A call of something unknown: a value from outside, unless it computes with values of the expression.

        Args:
            node: the call.
            arguments: what it is given.
            scope: what names hold by now.
            what: what is not on the closed list, in words; by default what is called.
        """
        if all(map(is_raw, arguments)):
            return self.from_outside(node, scope)
        inside = next((each for each in arguments if isinstance(each, Outside)), None)
        return inside or Outside(what or self.words(node.func))
