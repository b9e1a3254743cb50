"""Expressions: the events in them, in the order in which they happen, and where their values come from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from amplint.lowering import told_by_flags
from amplint.lowering.calls import CallReader
from amplint.lowering.conditions import ConditionReader, constant
from amplint.lowering.counters import number_added, number_in
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.function_scope import OBJECTS
from amplint.lowering.gradients import GradientReader
from amplint.lowering.loop_targets import chosen_keys, name_elements, only_key, picking_names
from amplint.lowering.mode_branches import as_mode_branch
from amplint.lowering.provenance import Provenance, union
from amplint.model.event_graph import Loop, Seq
from amplint.model.events import Report
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import children, is_reference, is_sequence

_COMPREHENSIONS = frozenset({cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp})
_Comprehension = cst.ListComp | cst.GeneratorExp | cst.SetComp | cst.DictComp


class ExpressionReader:
    """Reads expressions, and the assignment of their values.

    Args:
        builder: what the events are written to.
        conditions: reads the tests of conditional expressions.
    """

    def __init__(self, builder: FunctionBuilder, conditions: ConditionReader) -> None:
        self._builder = builder
        self._scope = builder.scope
        self._conditions = conditions
        self._reports = builder.scope.program.reports
        self.gradients = GradientReader(builder, self.read)
        self._calls = CallReader(builder, conditions, self.gradients, self.read)
        self.manage = self._calls.manage

    def read(self, node: cst.CSTNode) -> Provenance:
        """Emit the events of an expression in the order in which they happen, and say where its value comes from."""
        if type(node) is cst.IfExp:
            return self._conditional(node)
        value = self._value(node)
        self.gradients.read_measure(node)
        for reported in self._reports.found.get(node, ()):
            reference = self._scope.ref(reported) or self._builder.temporary(reported)
            self._builder.emit(Report(self._builder.site(node), reference))
        return value

    def _value(self, node: cst.CSTNode) -> Provenance:
        # A class pattern would be slow to deny, for nodes are abstract classes.
        if type(node) is cst.Call:
            return self._calls.read(node)
        if type(node) is cst.Name:
            reference = self._scope.ref(node)
            return Provenance((reference,)) if reference else Provenance()
        if type(node) is cst.Attribute or type(node) is cst.Subscript:
            reference = self._scope.ref(node)
            value = Provenance((reference,)) if reference else self.read(node.value)
            # Of a loss nobody takes an element by several indexes: it has no dimensions.
            return value.as_argument() if type(node) is cst.Subscript and len(node.slice) > 1 else value
        if type(node) is cst.BinaryOperation:
            left, right = self.read(node.left), self.read(node.right)
            right = right.as_argument() if isinstance(node.operator, cst.Divide) else right  # nobody divides by a loss
            return left | right | Provenance(computes=True)
        if type(node) is cst.BooleanOperation:
            return self._boolean(node)
        if type(node) is cst.UnaryOperation:
            return self.read(node.expression) | Provenance(computes=True)
        if type(node) is cst.NamedExpr:
            value = self.read(node.value)
            self.assign(node.target, value, node)
            return value
        if type(node) in _COMPREHENSIONS:
            return self._comprehension(node)  # type: ignore[arg-type]
        value = Provenance() if type(node) is cst.Lambda else union(map(self.read, children(node)))
        if type(node) is cst.Yield and self._scope.is_context:
            self._builder.escape(node)  # here the block of a `with` statement runs
        return value

    def _comprehension(self, node: _Comprehension) -> Provenance:
        choice = chosen_keys(node.for_in.target, node.for_in.iter, _repeated(node), self._scope)
        if choice is None:
            return self._over(node, node.for_in.iter)
        values: list[Provenance] = []
        self.branch(choice, lambda side: values.append(self._over(node, side)))
        return union(values)

    def _over(self, node: _Comprehension, source: cst.BaseExpression) -> Provenance:
        """Read a comprehension that runs over something; where it picks objects by their keys, as a loop over them."""
        scope, target, repeated = self._scope, node.for_in.target, _repeated(node)
        self.read(source)
        before, picking = dict(scope.aliases), scope.picking
        only = only_key(target, source, repeated, scope)
        if only is not None:
            scope.aliases[only[0]] = only[1]
        elif isinstance(target, cst.Name):
            container = scope.ref(source) if not isinstance(source, cst.Call) else ""
            if container:
                scope.aliases[target.value] = f"{container}[*]"
            scope.loop_owners[target.value] = tuple(map(scope.qualify, scope.roles.owners(source)))
        else:
            name_elements(node.for_in, scope)
        keys = picking_names(target, repeated, scope) if only is None else frozenset[str]()
        scope.picking |= keys
        values: list[Provenance] = []
        body = self._builder.block(lambda: values.append(self.read(repeated)))
        self._builder.emit(Loop(self._builder.site(node), body, Seq(), over_objects=True) if keys else body)
        scope.aliases, scope.picking = before, picking
        return union(values)

    def _boolean(self, node: cst.BooleanOperation) -> Provenance:
        """`and` and `or`: what the right side does happens only if the left one asks for it."""
        values = [self.read(node.left)]
        right = self._builder.block(lambda: values.append(self.read(node.right)))
        if right != Seq():
            sides = (right, Seq()) if isinstance(node.operator, cst.And) else (Seq(), right)
            self._builder.emit(as_mode_branch(self._conditions.read(node.left), *sides))
        return union(values)

    def _conditional(self, node: cst.IfExp) -> Provenance:
        target = self._builder.temporary(node)
        self.branch(node, lambda side: self._builder.assign(side, target, self.read(side)))
        return Provenance((target,))

    def branch(self, node: cst.IfExp, read: Callable[[cst.BaseExpression], object]) -> None:
        """Emit a branch for a conditional expression.

        Args:
            node: the expression.
            read: emits what happens on a side of it.
        """
        self.read(node.test)
        then, orelse = (self._builder.block(partial(read, side)) for side in (node.body, node.orelse))
        self._builder.emit(as_mode_branch(self._conditions.read(node.test), then, orelse))

    def assign(
        self, target: cst.CSTNode, value: Provenance, at: cst.CSTNode, of: cst.BaseExpression | None = None
    ) -> None:
        """Emit the assignment of a value to each name in a target.

        Args:
            target: a name, an attribute, an element, or several of these.
            value: where the value comes from.
            at: the node that assigns it.
            of: the expression that the value is; None where it is none of its own.
        """
        if is_sequence(target):
            for element in target.elements:
                self.assign(element.value, value, at)
        elif is_reference(target) and (path := path_of(target)):
            numbers = number_in(of), number_added(at)
            present = value.computes and told_by_flags.is_none_elsewhere(self._scope, target)
            truth = self._truth(of)
            after_step = truth is not None and told_by_flags.tells_of_step(
                self._scope, target, self._builder.step_before
            )
            self._builder.assign(at, self._scope.qualify(path), value, truth, *numbers, present, after_step)

    def _truth(self, value: cst.BaseExpression | None) -> bool | None:
        if type(value) is cst.Call and (made := self._scope.roles.made_by(value)) is not None:
            return True if made.role in OBJECTS else None
        return constant(value) if value is not None else None


def _repeated(node: _Comprehension) -> cst.BaseExpression:
    """What a comprehension computes for each element."""
    return node.value if isinstance(node, cst.DictComp) else node.elt
