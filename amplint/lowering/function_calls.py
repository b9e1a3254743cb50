"""Calls of functions whose graph is known: by name, on the spot, as a closure, or for each batch by an object.

What they are given is bound to their parameters; what comes back has a reference of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import libcst as cst

from amplint.lowering import call_binding
from amplint.lowering.called_back import CalledBack
from amplint.lowering.conditions import ConditionReader
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.mode_branches import as_mode_branch
from amplint.lowering.provenance import Provenance, Read, arguments, union
from amplint.model.event_graph import Call, Loop, Seq
from amplint.model.references import SOMETHING
from amplint.roles.call_targets import Callee


class FunctionCalls:
    """Enters the graphs of functions that calls are known to run.

    Args:
        builder: what the events are written to.
        conditions: reads conditions that are handed on.
        read: reads an expression.
    """

    def __init__(self, builder: FunctionBuilder, conditions: ConditionReader, read: Read) -> None:
        self._builder = builder
        self._emit, self._site, self._escape = builder.emit, builder.site, builder.escape
        self._scope, self._ref = builder.scope, builder.scope.ref
        self._conditions = conditions
        self._read = read
        self._under_way: set[cst.Lambda] = set()

    def enter(self, call: cst.Call, at: cst.Call | None = None) -> Provenance | None:
        """Enter the graph of the function that a call is known to run; None when it is not known.

        Args:
            call: the call.
            at: the call in whose place it stands, where the author has not written it.
        """
        found = self._scope.program.callees.of(call, self._scope.node)
        if found is None:
            return None
        values = {arg.value: self._argument(arg) for arg in call.args}
        return Provenance((self._run(found, call, at or call, values),), union(values.values()).as_argument().args)

    def choose(self, call: cst.Call) -> Provenance | None:
        """Enter the graph of either of two functions between which a condition chooses; None for any other call.

        Args:
            call: the call.
        """
        choice = self._scope.program.callees.choice(call)
        if choice is None or not self._scope.program.callees.all_of(call, self._scope.node):
            return None
        chosen, sides = choice
        values = {arg.value: self._argument(arg) for arg in call.args}
        then, orelse = (self._builder.block(partial(self._take, side, call, values)) for side in sides)
        self._emit(as_mode_branch(self._conditions.read(chosen.test), then, orelse))
        return Provenance((self._builder.temporary(call),), union(values.values()).as_argument().args, True)

    def _take(self, side: cst.Call, call: cst.Call, values: Mapping[cst.BaseExpression, Provenance]) -> None:
        """Emit that one of two functions is called, which may be unknown."""
        found = self._scope.program.callees.of(side, self._scope.node)
        if found is not None:
            self._run(found, side, call, values)
        else:
            self._escape(call)

    def _argument(self, arg: cst.Arg) -> Provenance:
        value = self._read(arg.value)
        return value | Provenance((SOMETHING,), (), True) if arg.star else value

    def manage(self, method: Callee, context: cst.BaseExpression) -> Provenance:
        """Enter the graph of a method that a `with` calls of an object.

        Args:
            method: the method.
            context: the object.
        """
        return Provenance((self._run(method, cst.Call(context), context, {}),), computes=True)

    def _run(
        self, found: Callee, call: cst.Call, at: cst.BaseExpression, values: Mapping[cst.BaseExpression, Provenance]
    ) -> str:
        """Emit the call of a function, and say under which reference its value is known."""
        target = self._builder.temporary(at)
        binding = call_binding.binding(
            found, call, self._scope, lambda node: self._builder.reference_of(node, values[node])
        )
        truths = call_binding.truths(found, call, self._scope)
        conditions = call_binding.conditions(found, call, self._scope, self._conditions.read)
        self._emit(Call(self._site(at), found.key, binding, target, truths, conditions))
        return target

    def run_closures(self, call: cst.Call) -> None:
        """Enter the functions that a call is given by name, as if they ran there."""
        for arg in call.args:
            if isinstance(arg.value, cst.Name):
                self.enter(cst.Call(arg.value), at=call)

    def on_the_spot(self, call: cst.Call, function: cst.Lambda) -> Provenance:
        """Read the body of a lambda where it is called, with what its parameters are given by position.

        Args:
            call: the call.
            function: the lambda that is called.
        """
        value = arguments(self._read, call)
        names = [param.name.value for param in (*function.params.posonly_params, *function.params.params)]
        given = ((name, self._ref(arg.value)) for name, arg in zip(names, call.args) if not (arg.star or arg.keyword))
        outer = self._scope.aliases
        self._scope.aliases = {**outer, **{name: reference for name, reference in given if reference}}
        if function not in self._under_way:  # it may call itself
            self._under_way.add(function)
            value |= self._read(function.body)
            self._under_way.remove(function)
        self._scope.aliases = outer
        return value

    def called_back(self, call: cst.Call) -> None:
        """Enter what an object calls for each batch where it is made, as if it ran there."""
        back = CalledBack(call, self._scope)
        first = back.first
        if first is None:
            return

        def each_batch() -> None:
            for function in (first, *back.after_each):
                if isinstance(function, cst.Lambda):
                    self._read(function.body)
                else:
                    self.enter(cst.Call(function), at=call)
            if back.may_touch_scaler:
                self._escape(call)

        self._emit(Loop(self._site(call), self._builder.block(each_batch), Seq(())))
