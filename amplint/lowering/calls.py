"""Calls: which events a call is. The tables say what the field's libraries call things."""

from __future__ import annotations

import re

import libcst as cst

from amplint.lowering.backward_passes import BackwardReader, differentiates_again
from amplint.lowering.conditions import ConditionReader, constant
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.function_calls import FunctionCalls
from amplint.lowering.gradients import CLIP_METHODS, GradientReader, argument, is_grad
from amplint.lowering.preset_calls import PresetCalls
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.lowering.unknown_calls import UnknownCalls
from amplint.model.events import (
    GRADIENT,
    CacheCleared,
    Event,
    Forward,
    OptimizerStep,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
    ZeroGrad,
)
from amplint.model.records import changed
from amplint.model.torch import names as torch_names
from amplint.roles import schedules
from amplint.roles.object_classes import is_torchs
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.words import words

_VALUE_METHODS = frozenset(
    (
        "mean sum div div_ mul mul_ float double item to clone detach cuda cpu squeeze view reshape flatten contiguous permute "
        "transpose add add_ sub neg abs requires_grad_ backward retain_grad type half bfloat16 unsqueeze max min values items "
        "get pop copy"
    ).split()
)

_LEAF_METHODS = frozenset(("detach", "requires_grad_"))

_SCALER = re.compile(r"^(?!from |import ).*caler", re.MULTILINE)
"""A word about scalers, but for imports."""


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
            ) if self._roles.of(scaler).role == "scaler":
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
        if attribute in CLIP_METHODS and not self._names.any_in(func, torch_names.CLIPS):
            return self._functions.enter(call) or self._gradients.clip_method(call, func)
        if not call.args and self._advances_rates(func):
            return self._told(SchedulerStep(self._site(call), self._ref(func.value)))
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
        if self._roles.of(func.value).role != "scaler" or len(call.args) != 1:
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
        return None if self._roles.of(func.value).made else self._functions.enter(call)

    def _on_unscale(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered
        optimizer = self._ref(call.args[0].value) if call.args else ""
        return self._told(Unscale(self._site(call), self._ref(func.value), optimizer))

    def _on_update(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered
        if self._roles.of(func.value).role != "scaler":
            return None
        given = any(self._scope.program.tree.text(arg.value) != "None" for arg in call.args)
        return self._told(ScalerUpdate(self._site(call), self._ref(func.value), given))

    def _on_zero_grad(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        if isinstance(func.value, cst.Call):
            return None
        is_optimizer = self._roles.of(func.value).role == "optimizer"
        if is_optimizer and self._clears_inside(call) and (entered := self._functions.enter(call)) is not None:
            return entered
        owner = self._ref(func.value)
        kept = argument(call, 0, ("set_to_none",))
        to_none = kept is None or constant(kept) is True
        optimizer, model = (owner, "") if is_optimizer else ("", owner)
        return self._told(ZeroGrad(self._site(call), optimizer, model, to_none))

    def _on_step(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        facts = self._roles.of(func.value)
        bare = schedules.is_given_nothing(call, self._scope.program.tree, self._scope.program.flow)
        if facts.role == "scheduler" and facts.maker and bare:
            return self._told(SchedulerStep(self._site(call), self._ref(func.value)))
        own_step = facts.role == "optimizer" and self._is_optimizers_own(call)
        if not own_step and (entered := self._functions.enter(call)) is not None:
            return entered
        role = self._roles.of(func.value).role
        if role == "scaler" and call.args:
            arguments(self._read, call, but=1)
            optimizer = self._ref(call.args[0].value)
            self._emit(ScalerStep(self._site(call), self._ref(func.value), optimizer, self._gives_closure(call)))
            if len(call.args) > 1:
                self._escape(call)
            return Provenance(computes=True)
        if role == "optimizer" and not any(self._roles.of(arg.value).role == "scaler" for arg in call.args):
            # One that is given a scaler steps through it, by a rule of its own.
            self._functions.run_closures(call)
            self._emit(OptimizerStep(self._site(call), self._ref(func.value)))
            return Provenance(computes=True)
        if role == "scheduler" and bare:
            return self._told(SchedulerStep(self._site(call), self._ref(func.value)))
        return None

    def _on_second_step(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        """The step of an optimizer that has looked for a flat minimum (SAM), in a file that says nothing of scalers."""
        scales = _SCALER.search(self._scope.program.tree.source.text) is not None
        if scales or self._roles.of(func.value).role != "optimizer":
            return None
        return self._told(OptimizerStep(self._site(call), self._ref(func.value)))

    def _clears_inside(self, call: cst.Call) -> bool:
        """Whether a call runs the `zero_grad` of an object around an optimizer, which clears the gradients of that one."""
        program = self._scope.program
        method = program.callees.of(call, self._scope.node)
        calls = program.tree.inside(method.node, cst.Call) if method is not None else ()
        cleared = (
            each.func.value
            for each in calls
            if isinstance(each.func, cst.Attribute) and called_name(each) == "zero_grad"
        )
        return any(path_of(each).startswith("self.") for each in cleared)

    def _is_optimizers_own(self, call: cst.Call) -> bool:
        """Whether a call runs the `step` of a class derived from an optimizer of torch, which steps nothing but itself, and
        knows of no scale."""
        program = self._scope.program
        method = program.callees.of(call, self._scope.node)
        owner = program.classes.owner(method.node) if method is not None else None
        if method is None or owner is None or not is_torchs(owner):
            return False
        if any("scale" in word.lower() for word in (*words(call), *words(method.node))):
            return False
        stepped = (each.func for each in program.tree.inside(method.node, cst.Call) if called_name(each) == "step")
        return all(called_name(each.value) == "super" for each in stepped if isinstance(each, cst.Attribute))

    def _advances_rates(self, func: cst.Attribute) -> bool:
        """Whether a method of an object advances rates at each call, whatever it is called (`schedule.update_lr()`)."""
        if not schedules.may_set_rates(func.attr.value):
            return False
        info = self._scope.program.callees.objects.class_of(func.value)
        return info is not None and schedules.counts_calls(info, func.attr.value, self._scope.program.tree)

    def _told(self, event: Event) -> Provenance:
        """What a call returns that is nothing but an event."""
        self._emit(event)
        return Provenance()

    def _gives_closure(self, call: cst.Call) -> bool:
        """Whether a step is given a closure: by keyword, which a scaler refuses even if it is None, or surely not None."""
        second = call.args[1] if len(call.args) > 1 else None
        if second is None or second.keyword is not None or second.star:
            return any(arg.keyword is not None and arg.keyword.value == "closure" for arg in call.args)
        if not isinstance(second.value, cst.Name):
            return True
        bound = (each.node for each in self._names.bindings(second.value.value, second.value))
        passed_on = any(isinstance(node, cst.Param) and node.default is not None for node in bound)
        return second.value.value != "None" and not passed_on


_METHODS = {
    "scale": CallReader._on_scale,
    "unscale_": CallReader._on_unscale,
    "step": CallReader._on_step,
    "second_step": CallReader._on_second_step,
    "update": CallReader._on_update,
    "zero_grad": CallReader._on_zero_grad,
    "backward": CallReader._on_backward,
    "manual_backward": CallReader._on_backward,
}
