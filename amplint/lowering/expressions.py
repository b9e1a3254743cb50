"""Expressions: the events in them, in the order in which they happen, and where their values come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from amplint.lowering import call_binding
from amplint.lowering.calls import CallReader
from amplint.lowering.conditions import Conditions
from amplint.lowering.function_scope import OBJECTS, Flow
from amplint.model.event_graph import Call
from amplint.model.events import Assign, Report
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import children

if TYPE_CHECKING:
    from amplint.lowering.program import Program


class ExpressionReader(CallReader):
    """The part of a function's lowering that reads expressions."""

    def __init__(self, program: Program, node: cst.FunctionDef | cst.Module, key: str) -> None:
        super().__init__(program, node, key)
        self._conditions = Conditions(
            self.ref,
            self.definition,
            self._changing(),
            self.scale_names,
            lambda node: self.roles.of(node).role,
        )

    def flow(self, node: cst.CSTNode) -> Flow:
        """Emit the events of an expression in the order in which they happen, and say where its value comes from."""
        flow = self._flow(node)
        self.read_gradients(node)
        self._report(node)
        return flow

    def _flow(self, node: cst.CSTNode) -> Flow:
        # Asked of every expression: `isinstance` is many times slower to deny, for nodes are abstract classes.
        if type(node) is cst.Call:
            return self.read_call(node)
        if type(node) is cst.Name or type(node) is cst.Attribute or type(node) is cst.Subscript:
            reference = self.ref(node)
            if reference:
                return Flow((reference,))
            return self.flow(node.value) if type(node) is not cst.Name else Flow()
        if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation)):
            parts = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node.expression,)
            return self._union(parts) | Flow(computes=True)
        if isinstance(node, (cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp)):
            return self._comprehension(node)
        if isinstance(node, cst.NamedExpr):
            flow = self.flow(node.value)
            self.assign_target(node.target, flow, node)
            return flow
        if isinstance(node, (cst.Lambda, cst.SimpleString, cst.Integer, cst.Float)):
            return Flow()
        return self._union(list(children(node)))

    def _report(self, node: cst.CSTNode) -> None:
        """Emit that an expression reads a loss out, if it does."""
        for value in self.program.reports.found.get(node, ()):
            self.emit(Report(self.site(node), self.ref(value) or self.temporary(value)))

    def _union(self, nodes: Sequence[cst.CSTNode]) -> Flow:
        flow = Flow()
        for node in nodes:
            flow |= self.flow(node)
        return flow

    def _comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.SetComp | cst.DictComp) -> Flow:
        self.flow(node.for_in.iter)
        before = dict(self._aliases)
        if isinstance(node.for_in.target, cst.Name):
            container = self.ref(node.for_in.iter) if not isinstance(node.for_in.iter, cst.Call) else ""
            if container:
                self._aliases[node.for_in.target.value] = f"{container}[*]"
            owners = tuple(self.qualify(path) for path in self.roles.owners(node.for_in.iter))
            self._loop_owners[node.for_in.target.value] = owners
        flow = self.flow(node.value if isinstance(node, cst.DictComp) else node.elt)
        self._aliases = before
        return flow

    def call_into(self, call: cst.Call, at: cst.Call | None = None) -> Flow | None:
        """Enter the graph of the function that a call is known to run; None when it is not known."""
        found = self.program.callees.of(call, self._node)
        if found is None:
            return None
        flow = Flow()
        for arg in call.args:
            flow |= self.flow(arg.value)
        target = self.temporary(at or call)
        binding, truths = call_binding.binding(found, call, self), call_binding.truths(found, call, self)
        conditions = call_binding.conditions(found, call, self, self._conditions.read)
        self._events.append(Call(self.site(at or call), found.key, binding, target, truths, conditions))
        return Flow((target,), flow.as_argument().args, True)

    def assign_target(
        self, target: cst.CSTNode, flow: Flow, node: cst.CSTNode, value: cst.BaseExpression | None = None
    ) -> None:
        """Emit the assignment of a value, which comes from where `flow` says, to each name in a target."""
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self.assign_target(element.value, flow, node)
        elif isinstance(target, (cst.Name, cst.Attribute, cst.Subscript)):
            reference = self.qualify(path_of(target)) if path_of(target) else ""
            if reference:
                self.emit(
                    Assign(self.site(node), reference, flow.carried, flow.args, flow.computes, self._truth(value))
                )

    def _truth(self, value: cst.BaseExpression | None) -> bool | None:
        if isinstance(value, cst.Name) and value.value in ("True", "False", "None"):
            return value.value == "True"
        if isinstance(value, cst.Call) and (made := self.roles.made_by(value)) is not None and made.role in OBJECTS:
            return True
        return None
