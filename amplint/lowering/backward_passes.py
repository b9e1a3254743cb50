"""Backward passes: what they propagate, and what may divide the gradients by the scale afterwards."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.copied_models import CopiedModels
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.gradients import argument
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.model import vocabulary
from amplint.model.events import GRADIENT, Backward, InnerGrad
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import is_sequence, within

_CONSTANT_TENSORS = frozenset(
    f"torch.{name}" for name in "ones ones_like zeros zeros_like rand randn randn_like".split()
)
"""What makes a tensor out of nothing."""

_MULTIPLIES = frozenset("mul_ div_ multiply_ divide_ _foreach_mul_ _foreach_div_".split())

_KEEPING = (cst.Assign, cst.AssignTarget, cst.AnnAssign, cst.Comparison, cst.ComparisonTarget)
"""Where a value is kept, or compared with another."""


class BackwardReader:
    """Reads backward passes.

    Args:
        builder: what the events are written to.
        read: reads an expression.
    """

    def __init__(self, builder: FunctionBuilder, read: Read) -> None:
        self._builder = builder
        self._emit, self._site, self._escape = builder.emit, builder.site, builder.escape
        self._scope = builder.scope
        self._program = builder.scope.program
        self._copies = CopiedModels(self._scope)
        self._read = read

    def may_unscale(self, call: cst.Call) -> bool:
        """Whether a call may divide gradients by a loss scale that it is given: in place, or those of parameters it gets."""
        name = call.func.attr.value if type(call.func) is cst.Attribute else path_of(call.func)
        harmless = vocabulary.HARMLESS.search(name) or "loss" in path_of(call.func)
        if harmless or not self._program.loss_scales.in_play(call):
            return False
        if name not in _MULTIPLIES and not any(map(_names_gradients, call.args)):
            return False
        given = any(self._program.loss_scales.may_hold(arg.value) for arg in call.args)
        return given and self._program.callees.of(call, self._scope.node) is None

    def method(self, call: cst.Call, func: cst.Attribute) -> Provenance:
        """Read a call of `backward` of which the file does not show what it runs.

        Args:
            call: the call.
            func: what is called.
        """
        role = self._scope.facts(func.value).role
        other = role in ("framework", "optimizer", "scaler") or path_of(func.value) in ("self", "ctx", "cls")
        positional = [arg for arg in call.args if arg.keyword is None and arg.star != "**"]
        if other and len(positional) == 1 and self._is_scaled(positional[0].value):
            return self.propagate(call, positional[0].value, None)
        is_loss = not other and (not positional or self._scope.is_value(func.value))
        return self.propagate(call, func.value if is_loss else None, argument(call, 0, ("gradient",)))

    def _is_scaled(self, loss: cst.BaseExpression) -> bool:
        """Whether the author's own scaler has scaled a loss, whatever else a framework does that is given it."""
        made = self._scope.definition(loss) if isinstance(loss, cst.Name) else loss
        if (
            not isinstance(made, cst.Call)
            or not isinstance(made.func, cst.Attribute)
            or made.func.attr.value != "scale"
        ):
            return False
        return self._scope.facts(made.func.value).role == "scaler"

    def propagate(
        self, call: cst.Call, loss: cst.BaseExpression | None, gradient: cst.BaseExpression | None
    ) -> Provenance:
        """Emit the backward pass of a loss.

        Args:
            call: the call that runs it.
            loss: the loss; None where it is not known.
            gradient: the gradient that it starts with; None for one.
        """
        if loss is not None and gradient is not None and not self._is_constant(gradient):
            # What is propagated is the product of both, and of a gradient nobody knows whether it is scaled already.
            value = self._read(loss) | self._read(gradient) | Provenance((GRADIENT,))
            # A pass that starts in the middle of a network leaves the rest of it to another pass.
            sources = self._scope.sources(loss)
            self._emit(Backward(self._site(call), self._builder.assign_temporary(call, value), sources))
            return Provenance()
        arguments(self._read, call)
        if loss is not None and self._copies.compute(loss):
            return Provenance()
        if loss is not None:
            self._emit(Backward(self._site(call), self.single(loss)))
        else:
            self._escape(call)
        return Provenance()

    def _is_constant(self, gradient: cst.BaseExpression) -> bool:
        """Whether a gradient argument is None, or made of numbers alone: then nothing has scaled it."""
        if is_sequence(gradient):
            return all(self._is_constant(each.value) for each in gradient.elements)
        if isinstance(gradient, cst.Name) and gradient.value != "None":
            value = self._scope.definition(gradient)
            return value is not None and not isinstance(value, cst.Name) and self._is_constant(value)
        if isinstance(gradient, cst.Call):
            return self._scope.names.all_in(gradient.func, _CONSTANT_TENSORS)
        return isinstance(gradient, (cst.Name, cst.Integer, cst.Float))

    def inner_grad(self, call: cst.Call) -> Provenance:
        """Emit that gradients are computed which become part of a loss."""
        outputs = argument(call, 0, ("outputs",))
        value, reference = Provenance(), ""
        for arg in call.args:
            if arg.value is outputs:
                reference = self.single(outputs)
            value |= Provenance((reference,)) if arg.value is outputs else self._read(arg.value)
        self._emit(InnerGrad(self._site(call), reference, self._computes_with_scale()))
        return value.as_argument()

    def _computes_with_scale(self) -> bool:
        """Whether the function does anything with the scale but keep it and compare it."""
        tree = self._program.tree
        scales = self._program.loss_scales
        called = [each for each in tree.inside(self._scope.node, cst.Call) if path_of(each.func).endswith("get_scale")]
        named = [each for each in tree.inside(self._scope.node, cst.Name) if each.value in self._scope.scale_names]
        operations = tree.inside(self._scope.node, cst.BinaryOperation) if scales.in_play(self._scope.node) else []
        divisors = [each.right for each in operations if isinstance(each.operator, (cst.Divide, cst.Multiply))]
        computed = any(not isinstance(tree.parent(each), _KEEPING) for each in (*called, *named))
        return computed or any(map(scales.may_hold, divisors))

    def single(self, node: cst.BaseExpression) -> str:
        """One reference for the value of an expression, a temporary where it has none."""
        return self._scope.ref(node) or self._builder.reference_of(node, self._read(node))


def _names_gradients(arg: cst.Arg) -> bool:
    names = (node.value for node in within(arg.value) if isinstance(node, cst.Name))
    return any(vocabulary.HAS_GRADIENTS.search(name) for name in names)


def differentiates_again(call: cst.Call) -> bool:
    """Whether a call of `autograd.grad` makes gradients that can be part of a loss, if only while a module is trained."""
    given = argument(call, 4, ("create_graph",))
    return given is not None and path_of(given) in ("True", "self.training")
