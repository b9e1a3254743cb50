"""Calls: which events a call is. The tables say what the field's libraries call things."""

from __future__ import annotations

import re

import libcst as cst

from amplint.lowering.access import path_of
from amplint.lowering.conditions import constant
from amplint.lowering.gradients import CLIP_METHODS, CLIPS, SCALE_FREE, GradientReader, argument, is_grad
from amplint.lowering.scope import Flow
from amplint.lowering.tree import within
from amplint.model.events import (
    GRADIENT,
    Backward,
    CacheCleared,
    Escape,
    Forward,
    InnerGrad,
    OptimizerStep,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
    ZeroGrad,
)  # fmt: skip

_HARMLESS = re.compile(
    r"save|log|print|checkpoint|ckpt|state_dict|learning_rate|(^|_)lr(_|$)|warm_?up|report|display|write|dump|repr|format|"
    r"^(len|isinstance|hasattr|getattr|id|type|zip|enumerate|list|tuple|dict|set|str|bool|range|iter|next|cast|sorted|reversed)$|"
    r"^(named_)?(parameters|buffers|modules|children)$|"
    r"sched|get_scale|is_enabled|param_groups|summary|count|describe|info|debug|warning|broadcast_optimizer",
    re.IGNORECASE,
)
_VALUE_METHODS = frozenset(
    "mean sum div div_ mul mul_ float double item to clone detach cuda cpu squeeze view reshape flatten contiguous permute transpose expand add add_ sub neg abs "
    "requires_grad_ backward retain_grad type half bfloat16 unsqueeze max min values items get pop copy".split()
)

_CONSTANT_TENSORS = frozenset(f"torch.{name}" for name in "ones ones_like zeros zeros_like rand randn randn_like".split())
"""What makes a tensor out of nothing."""

_MULTIPLIES = frozenset("mul_ div_ multiply_ divide_ _foreach_mul_ _foreach_div_".split())
_HOLDS_GRADIENTS = re.compile(r"(^|_)(params?|parameters|grads|gradients|models?|net|network|module)$", re.IGNORECASE)

_KEEPING = (cst.Assign, cst.AssignTarget, cst.AnnAssign, cst.Comparison, cst.ComparisonTarget)
"""Where a value is kept, or compared with another."""


class CallReader(GradientReader):
    """The part of a function's lowering that turns one call into events, and says where its value comes from."""

    def read_call(self, call: cst.Call) -> Flow:
        """Emit the events of a call, its arguments first."""
        if self.names.all_in(call.func, {"typing.cast"}) and len(call.args) == 2:
            return self.flow(call.args[1].value)
        if self.names.any_in(call.func, {"torch.autograd.backward"}):
            return self._backward(call, argument(call, 0, ("tensors",)), argument(call, 1, ("grad_tensors",)))
        if self.names.all_in(call.func, {"torch.autograd.grad"}):
            again = _differentiates_again(call)
            return self._inner_grad(call) if again else self.arguments(call).as_argument() | Flow((GRADIENT,))
        if self._may_unscale(call):
            self.rescale(call)
        whole = self._preset(call)
        if self.names.any_in(whole.func, CLIPS):
            self.arguments(call)
            by = next(CLIPS[name] for name in sorted(self.names.resolve(whole.func)) if name in CLIPS)
            limit = argument(whole, 1, ("max_norm", "clip_value"))
            self.clip(call, argument(whole, 0, ("parameters",)), limit, by)
            return Flow(computes=True)
        if isinstance(call.func, cst.Attribute):
            flow = self._method(call, call.func)
            if flow is not None:
                return flow
        self._use(call)
        entered = self.call_into(call)
        if entered is not None:
            return entered
        return self._unknown(call)

    def _may_unscale(self, call: cst.Call) -> bool:
        """Whether a call may divide gradients by a loss scale that it is given: in place, or those of parameters it gets."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else path_of(call.func)
        if not self.program.loss_scales.in_play(call) or _HARMLESS.search(name) or "loss" in path_of(call.func):
            return False
        if name not in _MULTIPLIES and not any(map(_names_gradients, call.args)):
            return False
        given = any(self.program.loss_scales.may_hold(arg.value) for arg in call.args)
        return given and self.program.callees.of(call, self._node) is None

    def _use(self, call: cst.Call) -> None:
        """Tell of a call, in case it is of a model: only its optimizer, perhaps in another function, tells that."""
        path = path_of(call.func)
        if self.names.all_in(call.func, {"torch.clear_autocast_cache"}):
            self.emit(CacheCleared(self.site(call)))
        elif path:
            self.emit(Forward(self.site(call), self.qualify(path)))

    def _preset(self, call: cst.Call) -> cst.Call:
        """The call with the function and arguments that `functools.partial` has set before."""
        value = self.definition(call.func) if isinstance(call.func, cst.Name) else None
        if isinstance(value, cst.Call) and value.args and self.names.all_in(value.func, {"functools.partial"}):
            args = [*value.args[1:], *call.args]
            return cst.Call(value.args[0].value, sorted(args, key=lambda arg: bool(arg.star or arg.keyword)))
        return call

    # -- methods ---------------------------------------------------------------------------------------------------

    def _method(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        attribute = func.attr.value
        if is_grad(func.value):
            return self.grad_method(call, func)
        reader = getattr(self, f"_on_{attribute}", None)
        if reader is not None:
            result: Flow | None = reader(call, func)
            return result
        if attribute in CLIP_METHODS and not self.names.any_in(func, CLIPS):
            return self.clip_method(call, func)
        if attribute in _VALUE_METHODS:
            return self.flow(func.value) | self.arguments(call).as_argument()
        return None

    def _on_scale(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered | Flow(("?",))  # multiplied by a constant, it is scaled as well
        if self.roles.of(func.value).role != "scaler" or len(call.args) != 1:
            # Whatever it is, it may be another library's scaler.
            return self._unknown(call) | Flow(("?",)) if len(call.args) == 1 else None
        source = self._single(call.args[0].value)
        target = self.temporary(call)
        self.emit(Scale(self.site(call), target, self.ref(func.value), source))
        return Flow((target,))

    def _into_own_scaler(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        """Enter a method of a class of the author's own that is used like a scaler; None for torch's scaler."""
        return None if self.roles.of(func.value).made else self.call_into(call)

    def _on_unscale_(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered
        optimizer = self.ref(call.args[0].value) if call.args else ""
        self.emit(Unscale(self.site(call), self.ref(func.value), optimizer))
        return Flow()

    def _on_update(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered
        if self.roles.of(func.value).role != "scaler":
            return None
        self.emit(ScalerUpdate(self.site(call), self.ref(func.value), bool(call.args)))
        return Flow()

    def _on_zero_grad(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if isinstance(func.value, cst.Call):
            return None
        owner = self.ref(func.value)
        is_optimizer = self.roles.of(func.value).role == "optimizer"
        kept = argument(call, 0, ("set_to_none",))
        to_none = kept is None or constant(kept) is True
        self.emit(ZeroGrad(self.site(call), owner if is_optimizer else "", "" if is_optimizer else owner, to_none))
        return Flow()

    def _on_step(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        entered = self.call_into(call)
        if entered is not None:
            return entered
        role = self.roles.of(func.value).role
        if role == "scaler" and call.args:
            self.arguments(call, but=1)
            optimizer = self.ref(call.args[0].value)
            self.emit(ScalerStep(self.site(call), self.ref(func.value), optimizer, self._gives_closure(call)))
            if len(call.args) > 1:
                self.emit(Escape(self.site(call), ()))
            return Flow(computes=True)
        if role == "optimizer":
            self._run_closures(call)
            self.emit(OptimizerStep(self.site(call), self.ref(func.value), bool(call.args)))
            return Flow(computes=True)
        if role == "scheduler" and not call.args:
            self.emit(SchedulerStep(self.site(call), self.ref(func.value)))
            return Flow()
        return None

    def _gives_closure(self, call: cst.Call) -> bool:
        """Whether a step is given a closure: by keyword, which a scaler refuses even if it is None, or surely not None."""
        second = call.args[1] if len(call.args) > 1 else None
        if second is None or second.keyword is not None or second.star:
            return any(arg.keyword is not None and arg.keyword.value == "closure" for arg in call.args)
        if not isinstance(second.value, cst.Name):
            return True
        bound = (each.node for each in self.names.bindings(second.value.value, second.value))
        passed_on = any(isinstance(node, cst.Param) and node.default is not None for node in bound)
        return second.value.value != "None" and not passed_on

    def _on_backward(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if isinstance(func.value, cst.Call) and path_of(func.value.func) == "super":
            return self._unknown(call)
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
        return self._backward(call, func.value, argument(call, 0, ("gradient",)))

    def _backward(
        self, call: cst.Call, loss: cst.BaseExpression | None, gradient: cst.BaseExpression | None
    ) -> Flow:
        if loss is None:
            self.arguments(call)
            self.emit(Escape(self.site(call), ()))
        elif gradient is None or self._is_constant(gradient):
            self.arguments(call)
            self.emit(Backward(self.site(call), self._single(loss)))
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

    def _inner_grad(self, call: cst.Call) -> Flow:
        outputs = argument(call, 0, ("outputs",))
        flow, reference = Flow(), ""
        for arg in call.args:
            if arg.value is outputs:
                reference = self._single(outputs)
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

    def _single(self, node: cst.BaseExpression) -> str:
        """One reference for the value of an expression, a temporary where it has none."""
        reference = self.ref(node)
        if reference:
            return reference
        flow = self.flow(node)
        if len(flow.carried) == 1 and not flow.args and not flow.computes:
            return flow.carried[0]
        return self.assign_temporary(node, flow)

    # -- the rest --------------------------------------------------------------------------------------------------

    def _run_closures(self, call: cst.Call) -> None:
        for arg in call.args:
            if isinstance(arg.value, cst.Name):
                self.call_into(cst.Call(arg.value), at=call)

    def _unknown(self, call: cst.Call) -> Flow:
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        flow = self.arguments(call)
        if base is not None and not path_of(base):
            flow |= self.flow(base)
        name = path_of(call.func).rpartition(".")[2]
        if not (name and _HARMLESS.search(name)) and self._hands_over(call, base):
            self.emit(Escape(self.site(call), ()))
            return Flow(("?",), flow.as_argument().args, True)
        return Flow(computes=True) if name in SCALE_FREE else flow.as_argument()

    def _hands_over(self, call: cst.Call, base: cst.BaseExpression | None) -> bool:
        """Whether an unknown call gets hold of a scaler or an optimizer."""
        made = self.roles.made_by(call)
        if made is not None and made.role != "framework":
            return False
        if base is not None and self.escapes_by_receiver(base, call):
            return True
        return any(self._gives(arg.value) for arg in call.args)

    def _gives(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
            return path_of(node) == "self" or self.roles.of(node).role in ("scaler", "optimizer", "framework")
        if isinstance(node, (cst.List, cst.Tuple, cst.Dict)):
            return any(self._gives(item.value) for item in node.elements)
        return False


def _names_gradients(arg: cst.Arg) -> bool:
    names = (node.value for node in within(arg.value) if isinstance(node, cst.Name))
    return any(_HOLDS_GRADIENTS.search(name) for name in names)


def _differentiates_again(call: cst.Call) -> bool:
    given = argument(call, 4, ("create_graph",))
    return isinstance(given, cst.Name) and given.value == "True"
