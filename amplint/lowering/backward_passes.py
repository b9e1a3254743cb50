"""Backward passes: what they propagate, and what may divide the gradients by the scale afterwards."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from amplint.lowering.function_scope import Flow
from amplint.lowering.gradients import GradientReader, argument
from amplint.model.events import GRADIENT, Backward, Escape, InnerGrad
from amplint.model.torch import vocabulary
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import within

_CONSTANT_TENSORS = frozenset(
    f"torch.{name}" for name in "ones ones_like zeros zeros_like rand randn randn_like".split()
)
"""What makes a tensor out of nothing."""

_MULTIPLIES = frozenset("mul_ div_ multiply_ divide_ _foreach_mul_ _foreach_div_".split())

_KEEPING = (cst.Assign, cst.AssignTarget, cst.AnnAssign, cst.Comparison, cst.ComparisonTarget)
"""Where a value is kept, or compared with another."""


class PassReader(GradientReader):
    """The part of a function's lowering that reads backward passes."""

    @abstractmethod
    def unknown(self, call: cst.Call) -> Flow:
        """Read a call of which nobody knows what it does."""

    def may_unscale(self, call: cst.Call) -> bool:
        """Whether a call may divide gradients by a loss scale that it is given: in place, or those of parameters it gets."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else path_of(call.func)
        if (
            not self.program.loss_scales.in_play(call)
            or vocabulary.HARMLESS.search(name)
            or "loss" in path_of(call.func)
        ):
            return False
        if name not in _MULTIPLIES and not any(map(_names_gradients, call.args)):
            return False
        given = any(self.program.loss_scales.may_hold(arg.value) for arg in call.args)
        return given and self.program.callees.of(call, self._node) is None

    def _on_backward(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if isinstance(func.value, cst.Call) and path_of(func.value.func) == "super":
            return self.unknown(call)
        entered = self.call_into(call)
        if entered is not None:
            return entered
        role = self.roles.of(func.value).role
        if role in ("framework", "optimizer", "scaler") or path_of(func.value) in ("self", "ctx", "cls"):
            self.arguments(call)
            self.emit(Escape(self.site(call), ()))
            return Flow()
        positional = [arg for arg in call.args if arg.keyword is None and arg.star != "**"]
        if positional and not self.is_value(func.value):
            self.arguments(call)
            self.emit(Escape(self.site(call), ()))
            return Flow()
        return self.propagate(call, func.value, argument(call, 0, ("gradient",)))

    def propagate(self, call: cst.Call, loss: cst.BaseExpression | None, gradient: cst.BaseExpression | None) -> Flow:
        """Emit the backward pass of a loss, which starts with a gradient if one is given."""
        if loss is None:
            self.arguments(call)
            self.emit(Escape(self.site(call), ()))
        elif gradient is None or self._is_constant(gradient):
            self.arguments(call)
            self.emit(Backward(self.site(call), self.single(loss)))
        else:
            # What is propagated is the product of both, and of a gradient nobody knows whether it is scaled already.
            flow = self.flow(loss) | self.flow(gradient) | Flow((GRADIENT,))
            self.emit(Backward(self.site(call), self.assign_temporary(call, flow)))
        return Flow()

    def _is_constant(self, gradient: cst.BaseExpression) -> bool:
        """Whether a gradient argument is None, or made of numbers alone: then nothing has scaled it."""
        if isinstance(gradient, (cst.List, cst.Tuple)):
            return all(self._is_constant(each.value) for each in gradient.elements)
        if isinstance(gradient, cst.Name) and gradient.value != "None":
            value = self.definition(gradient)
            return value is not None and not isinstance(value, cst.Name) and self._is_constant(value)
        if isinstance(gradient, cst.Call):
            return self.names.all_in(gradient.func, _CONSTANT_TENSORS)
        return isinstance(gradient, (cst.Name, cst.Integer, cst.Float))

    def inner_grad(self, call: cst.Call) -> Flow:
        """Emit that gradients are computed which become part of a loss."""
        outputs = argument(call, 0, ("outputs",))
        flow, reference = Flow(), ""
        for arg in call.args:
            if arg.value is outputs:
                reference = self.single(outputs)
                flow |= Flow((reference,))
            else:
                flow |= self.flow(arg.value)
        self.emit(InnerGrad(self.site(call), reference, self._computes_with_scale()))
        return flow.as_argument()

    def _computes_with_scale(self) -> bool:
        """Whether the function does anything with the scale but keep it and compare it."""
        tree = self.program.tree
        scales = self.program.loss_scales
        called = [each for each in tree.inside(self._node, cst.Call) if path_of(each.func).endswith("get_scale")]
        named = [each for each in tree.inside(self._node, cst.Name) if each.value in self.scale_names]
        operations = tree.inside(self._node, cst.BinaryOperation) if scales.in_play(self._node) else []
        divisors = [each.right for each in operations if isinstance(each.operator, (cst.Divide, cst.Multiply))]
        computed = any(not isinstance(tree.parent(each), _KEEPING) for each in (*called, *named))
        return computed or any(map(scales.may_hold, divisors))

    def single(self, node: cst.BaseExpression) -> str:
        """One reference for the value of an expression, a temporary where it has none."""
        reference = self.ref(node)
        if reference:
            return reference
        flow = self.flow(node)
        if len(flow.carried) == 1 and not flow.args and not flow.computes:
            return flow.carried[0]
        return self.assign_temporary(node, flow)


def _names_gradients(arg: cst.Arg) -> bool:
    names = (node.value for node in within(arg.value) if isinstance(node, cst.Name))
    return any(vocabulary.HAS_GRADIENTS.search(name) for name in names)


def differentiates_again(call: cst.Call) -> bool:
    """Whether a call of `autograd.grad` makes gradients that can be part of a loss."""
    given = argument(call, 4, ("create_graph",))
    return isinstance(given, cst.Name) and given.value == "True"
