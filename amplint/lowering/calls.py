"""Calls: which events a call is. The tables say what the field's libraries call things."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.backward_passes import PassReader, differentiates_again
from amplint.lowering.conditions import constant
from amplint.lowering.function_scope import Flow
from amplint.lowering.gradients import CLIP_METHODS, SCALE_FREE, argument, is_grad
from amplint.model.events import (
    GRADIENT,
    CacheCleared,
    Escape,
    Forward,
    OptimizerStep,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
    ZeroGrad,
)  # fmt: skip
from amplint.model.torch import names as torch_names
from amplint.model.torch import vocabulary
from amplint.syntax.access_paths import path_of

_VALUE_METHODS = frozenset(
    (
        "mean sum div div_ mul mul_ float double item to clone detach cuda cpu squeeze view reshape flatten contiguous permute "
        "transpose add add_ sub neg abs requires_grad_ backward retain_grad type half bfloat16 unsqueeze max min values items "
        "get pop copy"
    ).split()
)


class CallReader(PassReader):
    """The part of a function's lowering that turns one call into events, and says where its value comes from."""

    def read_call(self, call: cst.Call) -> Flow:
        """Emit the events of a call, its arguments first."""
        if self.names.all_in(call.func, {"typing.cast"}) and len(call.args) == 2:
            return self.flow(call.args[1].value)
        if self.names.any_in(call.func, {"torch.autograd.backward"}):
            return self.propagate(call, argument(call, 0, ("tensors",)), argument(call, 1, ("grad_tensors",)))
        if self.names.all_in(call.func, {"torch.autograd.grad"}):
            again = differentiates_again(call)
            return self.inner_grad(call) if again else self.arguments(call).as_argument() | Flow((GRADIENT,))
        if self.may_unscale(call):
            self.rescale(call)
        whole = self._preset(call)
        if self.names.any_in(whole.func, torch_names.CLIPS):
            self.arguments(call)
            by = torch_names.CLIPS[min(self.names.resolve(whole.func) & torch_names.CLIPS.keys())]
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
        return self.unknown(call)

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
        if attribute in CLIP_METHODS and not self.names.any_in(func, torch_names.CLIPS):
            return self.clip_method(call, func)
        if attribute in _VALUE_METHODS:
            return self.flow(func.value) | self.arguments(call).as_argument()
        return None

    def _on_scale(self, call: cst.Call, func: cst.Attribute) -> Flow | None:
        if (entered := self._into_own_scaler(call, func)) is not None:
            return entered | Flow(("?",))  # multiplied by a constant, it is scaled as well
        if self.roles.of(func.value).role != "scaler" or len(call.args) != 1:
            # Whatever it is, it may be another library's scaler.
            return self.unknown(call) | Flow(("?",)) if len(call.args) == 1 else None
        source = self.single(call.args[0].value)
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

    # -- the rest --------------------------------------------------------------------------------------------------

    def _run_closures(self, call: cst.Call) -> None:
        for arg in call.args:
            if isinstance(arg.value, cst.Name):
                self.call_into(cst.Call(arg.value), at=call)

    def unknown(self, call: cst.Call) -> Flow:
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        flow = self.arguments(call)
        if base is not None and not path_of(base):
            flow |= self.flow(base)
        name = path_of(call.func).rpartition(".")[2]
        if not (name and vocabulary.HARMLESS.search(name)) and self._hands_over(call, base):
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
