"""The methods of optimizers and schedules: what steps, clears, and advances."""

from __future__ import annotations

import re

import libcst as cst

from amplint.lowering.conditions import constant
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.function_calls import FunctionCalls
from amplint.lowering.gradients import argument
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.model.events import OptimizerStep, ScalerStep, SchedulerStep, ZeroGrad
from amplint.roles import schedules
from amplint.roles.object_classes import is_torchs
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.words import words

_SCALER = re.compile(r"^(?!from |import ).*caler", re.MULTILINE)
"""A word about scalers, but for imports."""


class OptimizerCalls:
    """Turns calls of such methods into events.

    Args:
        builder: what the events are written to.
        functions: enters the functions that calls run.
        read: reads an expression.
    """

    def __init__(self, builder: FunctionBuilder, functions: FunctionCalls, read: Read) -> None:
        self._builder, self._functions, self._read = builder, functions, read
        self._emit, self._site, self._escape = builder.emit, builder.site, builder.escape
        self._scope, self._program = builder.scope, builder.scope.program
        self._names, self._roles, self._ref = self._scope.names, self._scope.roles, self._scope.ref

    def zero_grad(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        """Read a call that clears gradients; None where it is of something else.

        Args:
            call: the call.
            func: its method.
        """
        if isinstance(func.value, cst.Call):
            return None
        is_optimizer = self._scope.facts(func.value).role == "optimizer"
        if is_optimizer and self._clears_inside(call) and (entered := self._functions.enter(call)) is not None:
            return entered
        owner = self._ref(func.value)
        kept = argument(call, 0, ("set_to_none",))
        to_none = kept is None or constant(kept) is True
        optimizer, model = (owner, "") if is_optimizer else ("", owner)
        return self._builder.told(ZeroGrad(self._site(call), optimizer, model, to_none))

    def step(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        """Read a call of `step`, of whatever object; None where it is of something else.

        Args:
            call: the call.
            func: its method.
        """
        facts = self._scope.facts(func.value)
        bare = schedules.is_given_nothing(call, self._program.tree, self._program.flow)
        if facts.role == "scheduler" and facts.maker and bare:
            return self._builder.told(SchedulerStep(self._site(call), self._ref(func.value)))
        own_step = facts.role == "optimizer" and self._is_optimizers_own(call)
        if not own_step and (entered := self._functions.enter(call)) is not None:
            return entered
        role = self._scope.facts(func.value).role
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
            return self._builder.told(SchedulerStep(self._site(call), self._ref(func.value)))
        return None

    def second_step(self, call: cst.Call, func: cst.Attribute) -> Provenance | None:
        """The step of an optimizer that has looked for a flat minimum (SAM), in a file that says nothing of scalers.

        Args:
            call: the call.
            func: its method.
        """
        scales = _SCALER.search(self._program.tree.source.text) is not None
        if scales or self._scope.facts(func.value).role != "optimizer":
            return None
        return self._builder.told(OptimizerStep(self._site(call), self._ref(func.value)))

    def advances_rates(self, func: cst.Attribute) -> bool:
        """Whether a method of an object advances rates at each call, whatever it is called (`schedule.update_lr()`).

        Args:
            func: the method.
        """
        if not schedules.may_set_rates(func.attr.value):
            return False
        info = self._program.callees.objects.class_of(func.value)
        return info is not None and schedules.counts_calls(info, func.attr.value, self._program.tree)

    def _clears_inside(self, call: cst.Call) -> bool:
        """Whether a call runs the `zero_grad` of an object around an optimizer, which clears the gradients of that one."""
        program = self._program
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
        program = self._program
        method = program.callees.of(call, self._scope.node)
        owner = program.classes.owner(method.node) if method is not None else None
        if method is None or owner is None or not is_torchs(owner):
            return False
        if any("scale" in word.lower() for word in (*words(call), *words(method.node))):
            return False
        stepped = (each.func for each in program.tree.inside(method.node, cst.Call) if called_name(each) == "step")
        return all(called_name(each.value) == "super" for each in stepped if isinstance(each, cst.Attribute))

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


OPTIMIZER_METHODS = {
    "step": OptimizerCalls.step,
    "second_step": OptimizerCalls.second_step,
    "zero_grad": OptimizerCalls.zero_grad,
}
"""The methods, by name."""
