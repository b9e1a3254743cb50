"""Calls: which events a call is. The tables say what the field's libraries call things."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.backward_passes import BackwardReader, differentiates_again
from amplint.lowering.conditions import ConditionReader
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.function_calls import FunctionCalls
from amplint.lowering.gradients import CLIP_METHODS, GradientReader, argument, is_grad
from amplint.lowering.optimizer_calls import OPTIMIZER_METHODS, OptimizerCalls
from amplint.lowering.preset_calls import PresetCalls
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.lowering.unknown_calls import UnknownCalls
from amplint.model.events import (
    GRADIENT,
    CacheCleared,
    Forward,
    Scale,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
)
from amplint.model.records import changed
from amplint.model.torch import names as torch_names
from amplint.syntax.access_paths import path_of

_VALUE_METHODS = frozenset(
    (
        "mean sum div div_ mul mul_ float double item to clone detach cuda cpu squeeze view reshape flatten contiguous permute "
        "transpose add add_ sub neg abs requires_grad_ backward retain_grad type half bfloat16 unsqueeze max min values items "
        "get pop copy"
    ).split()
)

_LEAF_METHODS = frozenset(("detach", "requires_grad_"))


class CallReader:
    """Turns one call into events, and says where its value comes from.

    Args:
        builder: what the events are written to.
        conditions: reads conditions that are handed on.
        gradients: reads what happens to gradients.
        read: reads an expression.
    """

    def __init__(
        self, builder: FunctionBuilder, conditions: ConditionReader, gradients: GradientReader, read: Read
    ) -> None:
        self._builder = builder
        self._emit, self._site, self._escape = builder.emit, builder.site, builder.escape
        self._scope = builder.scope
        self._names, self._roles, self._ref = self._scope.names, self._scope.roles, self._scope.ref
        self._gradients = gradients
        self._presets = PresetCalls(builder.scope)
        self._backward = BackwardReader(builder, read)
        self._functions = FunctionCalls(builder, conditions, read)
        self._unknown = UnknownCalls(builder, read)
        self._optimizers = OptimizerCalls(builder, self._functions, read)
        self._read = read
        self.manage = self._functions.manage

    def read(self, call: cst.Call) -> Provenance:
        """Emit the events of a call, its arguments first."""
        if self._names.all_in(call.func, {"typing.cast"}) and len(call.args) == 2:
            return self._read(call.args[1].value)
        if self._names.any_in(call.func, {"torch.autograd.backward"}):
            return self._backward.propagate(call, argument(call, 0, ("tensors",)), argument(call, 1, ("grad_tensors",)))
        if self._names.all_in(call.func, {"torch.autograd.grad"}):
            if differentiates_again(call):
                return self._backward.inner_grad(call)
            return arguments(self._read, call).as_argument() | Provenance((GRADIENT,))
        if self._backward.may_unscale(call):
            self._gradients.rescale(call)
        whole = self._presets.whole(call)
        if self._names.any_in(whole.func, torch_names.CLIPS):
            arguments(self._read, call)
            by = torch_names.CLIPS[min(self._names.resolve(whole.func) & torch_names.CLIPS.keys())]
            limit = argument(whole, 1, ("max_norm", "clip_value"))
            self._gradients.clip(call, argument(whole, 0, ("parameters",)), limit, by)
            return Provenance(computes=True)
        if type(call.func) is cst.Attribute:
            value = self._method(call, call.func)
            if value is not None:
                return value
        function = self._scope.definition(call.func) if type(call.func) is cst.Name else call.func
        if type(function) is cst.Lambda:
            return self._functions.on_the_spot(call, function)
        match call:
            case cst.Call(
                func=cst.Name("map"),
                args=[cst.Arg(value=cst.Attribute(scaler, cst.Name("scale"))), cst.Arg(value=values)],
            ) if self._scope.facts(scaler).role == "scaler":
                return self._scaled(call, scaler, values)
        self._use(call)
        self._functions.called_back(call)
        return self._functions.enter(call) or self._functions.choose(call) or self._unknown.read(call)

    def _use(self, call: cst.Call) -> None:
        """Tell of a call, in case it is of a model: only its optimizer, perhaps in another function, tells that."""
        path = path_of(call.func)
        if self._names.all_in(call.func, {"torch.clear_autocast_cache"}):
            self._emit(CacheCleared(self._site(call)))
        elif path:
            self._emit(Forward(self._site(call), self._scope.qualify(path)))

    # -- methods ---------------------------------------------------------------------------------------------------

    def _method(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        attribute = func.attr.value
        if is_grad(func.value):
            return self._gradients.grad_method(call, func)
        if attribute in _METHODS:
            return _METHODS[attribute](self, call, func)
        if attribute in OPTIMIZER_METHODS:
            return OPTIMIZER_METHODS[attribute](self._optimizers, call, func)
        if attribute in CLIP_METHODS and not self._names.any_in(func, torch_names.CLIPS):
            return self._functions.enter(call) or self._gradients.clip_method(call, func)
        if not call.args and self._optimizers.advances_rates(func):
            return self._builder.told(SchedulerStep(self._site(call), self._ref(func.value)))
        if attribute in _VALUE_METHODS:
            whole = self._read(func.value)
            value = whole | arguments(self._read, call).as_argument()
            return changed(value, leaf=True) if attribute in _LEAF_METHODS or whole.leaf else value
        return None

    def _on_backward(self, call: cst.Call, func: cst.Attribute) -> Provenance:
        if isinstance(func.value, cst.Call) and path_of(func.value.func) == "super":
            return self._unknown.read(call)
        return self._functions.enter(call) or self._backward.method(call, func)

    def _on_scale(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered | Provenance(("?",))  # multiplied by a constant, it is scaled as well
        if self._scope.facts(func.value).role != "scaler" or len(call.args) != 1:
            # Whatever it is, it may be another library's scaler.
            return self._unknown.read(call) | Provenance(("?",)) if len(call.args) == 1 else None
        return self._scaled(call, func.value, call.args[0].value)

    def _scaled(self, call: cst.Call, scaler: cst.BaseExpression, value: cst.BaseExpression) -> Provenance:
        source = self._backward.single(value)
        target = self._builder.temporary(call)
        self._emit(Scale(self._site(call), target, self._ref(scaler), source))
        return Provenance((target,))

    def _into_own_scaler(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        """Enter a method of a class of the author's own that is used like a scaler; None for torch's scaler."""
        return None if self._scope.facts(func.value).made else self._functions.enter(call)

    def _on_unscale(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered
        optimizer = self._ref(call.args[0].value) if call.args else ""
        return self._builder.told(Unscale(self._site(call), self._ref(func.value), optimizer))

    def _on_update(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered
        if self._scope.facts(func.value).role != "scaler":
            return None
        given = any(self._scope.program.tree.text(arg.value) != "None" for arg in call.args)
        return self._builder.told(ScalerUpdate(self._site(call), self._ref(func.value), given))


_METHODS = {
    "scale": CallReader._on_scale,
    "unscale_": CallReader._on_unscale,
    "update": CallReader._on_update,
    "backward": CallReader._on_backward,
    "manual_backward": CallReader._on_backward,
}
