"""Conditions: what decides a branch, in a form in which equal conditions have equal keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.lowering import precision_tests, returned_flags, scale_comparisons
from amplint.lowering.condition_kinds import ConditionKinds
from amplint.lowering.excluded_choices import (
    ExcludedChoices,
    displayed_choices,
    enumeration_of,
    is_choice,
    matched_values,
)
from amplint.lowering.first_iterations import FirstIterations
from amplint.lowering.function_scope import FunctionScope
from amplint.lowering.given_constants import GivenConstants
from amplint.lowering.kept_settings import KeptSettings
from amplint.lowering.presence_tests import asks_for_presence
from amplint.model import vocabulary
from amplint.model.event_graph import Both, Condition, Not, Test
from amplint.model.torch.names import GRAD_SCALER
from amplint.syntax import option_reads
from amplint.syntax.access_paths import called_name, option_key, path_of
from amplint.syntax.nodes import children, is_reference
from amplint.syntax.words import words

MAX_EXPANSION = 4
_LOGICAL = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)


class ConditionReader:
    """Reads the conditions of one function."""

    def __init__(self, scope: FunctionScope) -> None:
        self._scope = scope
        self._ref = scope.ref
        self._definition = scope.definition
        self._settings = KeptSettings(scope)
        self.kinds = ConditionKinds(scope, self._settings)
        self.firsts = FirstIterations()
        self._choices = ExcludedChoices()
        self._constants = GivenConstants(scope)

    def read(self, node: cst.BaseExpression, depth: int = 0) -> Condition:
        """The condition that an expression is, in a truth context.

        Args:
            node: any expression.
            depth: how many names have been followed to get here.
        """
        about_first = self.firsts.told(node) if self.firsts.around else None
        if about_first is not None:
            return about_first
        if type(node) is cst.UnaryOperation and type(node.operator) is cst.Not:
            return Not(self.read(node.expression, depth))
        if type(node) is cst.BooleanOperation:
            parts = (self.read(node.left, depth), self.read(node.right, depth))
            return Both(scale_comparisons.with_guards(parts), any_of=isinstance(node.operator, cst.Or))
        if type(node) is cst.NamedExpr:
            return self.read(node.value, depth)
        if (
            type(node) is cst.Call
            and isinstance(node.func, cst.Name)
            and node.func.value == "bool"
            and len(node.args) == 1
        ):
            return self.read(node.args[0].value, depth)
        if type(node) is cst.Comparison and len(node.comparisons) == 1:
            return self._comparison(node, node.comparisons[0], depth)
        if isinstance(node, (cst.Name, cst.Attribute)):
            return self._truth(node, depth)
        if isinstance(node, cst.Integer):
            return Test("constant", kind="true" if node.value != "0" else "false")
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
            return Not(self._equality(node, cst.Integer("0")))
        if self._asks_scaler(node):
            return self._test(node, "mode")
        scaler = self._scaler_by_class(node)
        if scaler is not None:
            return self._truth(scaler, depth)
        told = self._kept(node, depth) or precision_tests.begins(self.normal(node), frozenset(self._refs(node)), node)
        if told is not None:
            return told
        kind = self.kinds.of(node)
        if vocabulary.UNSCALED_FLAG.search(option_key(node)):
            kind = "unscaled"
        elif kind in ("varying", "config") and self.kinds.is_amp_option(node):
            kind = "mode"
        return self._test(node, "moment" if kind == "varying" and self.kinds.asks_for_place(node) else kind)

    def matches(self, subject: cst.BaseExpression, case: cst.MatchCase) -> Condition:
        """The question whether a `match` statement takes a case.

        Args:
            subject: what is matched.
            case: the case.
        """
        values = matched_values(case.pattern) if case.guard is None else []
        if values and all(map(is_choice, values)):
            return self._one_of(subject, values)
        guard = f" if {self.normal(case.guard)}" if case.guard is not None else ""
        key = f"{self.normal(subject)} matches {self.normal(case.pattern)}{guard}"
        test = Test(key, frozenset(self._refs(subject)), "config")
        told = precision_tests.equals(key, test.refs, subject, values[0]) if len(values) == 1 else None
        return told or test

    def _truth(self, node: cst.Name | cst.Attribute, depth: int) -> Condition:
        if isinstance(node, cst.Name) and node.value in ("True", "False"):
            return Test("constant", kind=node.value.lower())
        if self._scope.program.switches.decide(node):
            return self._test(node, "mode")
        if isinstance(node, cst.Name):
            value = self._definition(node) if depth < MAX_EXPANSION else None
            logical = isinstance(value, (*_LOGICAL, cst.Name, cst.Attribute))
            if value is not None and (logical or isinstance(value, cst.Call) and _answers_alike(value)):
                return self.read(value, depth + 1)
            if returned_flags.tells_of_call(self._scope, node):
                return self._test(node, "range")
            if value is not None and vocabulary.STEP_GATE.search(" ".join(words(value))):
                return self._test(node, "gate")
            if self.kinds.judges_gradients(node):
                return self._test(node, "gate")
        last = node.value if isinstance(node, cst.Name) else node.attr.value
        # First of all: `optimizer._opt_called` is called like an optimizer, `amp_skipped` like a mode.
        if vocabulary.STEP_GATE.search(last):
            return self._test(node, "gate")
        if isinstance(node, cst.Name) and node.value in self._scope.scale_names:
            return self._test(node, "gate")
        told = self._kept(node, depth)
        if told is not None:
            return told
        if vocabulary.UNSCALED_FLAG.search(last):
            return self._test(node, "unscaled")
        role = self._scope.roles.of(node).role
        if vocabulary.AMP_FLAG.search(last) or role == "scaler":
            return self._test(node, "mode")
        if role in ("optimizer", "scheduler"):
            return self._test(node, "config")
        if vocabulary.LAST_BATCH.search(last):
            return self._test(node, "end")
        if path_of(node).partition(".")[0] not in self.kinds.changing:
            always = self._constants.truth(node) if isinstance(node, cst.Name) else None
            if always is not None:
                return Test("constant", kind=str(always).lower())
            return self._choices.asked_whether_given(self._test(node, "config"))
        there = asks_for_presence(node, self._scope.roles.flow.values)
        return self._choices.asked_whether_given(self._test(node, "range" if there else "varying"))

    def _kept(self, node: cst.BaseExpression, depth: int) -> Condition | None:
        """What a test of an attribute or an element asks that was assigned a logical value; None where that cannot be told."""
        if not isinstance(node, (cst.Attribute, cst.Subscript)) or depth >= MAX_EXPANSION:
            return None
        flow = self._scope.roles.flow
        here = [each.value for each in flow.assigned(path_of(node), node) if each.value is not None]
        if len(here) == 1 and isinstance(here[0], _LOGICAL):
            return self.read(here[0], depth + 1)
        values = here or (each for each in flow.values(node) if not self._is_of_constructor(each))
        return self._test(node, "gate") if any(map(self._tells_of_step, values)) else None

    def _asks_scaler(self, node: cst.BaseExpression) -> bool:
        """Whether an object, which is a scaler where AMP is on, is asked for a method that scalers have."""
        if type(node) is not cst.Call or called_name(node) != "hasattr" or len(node.args) != 2:
            return False
        name = node.args[1].value
        is_method = type(name) is cst.SimpleString and name.evaluated_value in vocabulary.OF_SCALERS
        return is_method and self._scope.roles.of(node.args[0].value).role == "scaler"

    def _scaler_by_class(self, node: cst.BaseExpression) -> cst.Name | cst.Attribute | None:
        """The scaler that is asked whether it is one, and not None: `isinstance(scaler, GradScaler)`."""
        match node:
            case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=asked), cst.Arg(value=wanted)]):
                if isinstance(asked, (cst.Name, cst.Attribute)) and self._scope.names.any_in(wanted, GRAD_SCALER):
                    return asked if self._scope.roles.of(asked).role == "scaler" else None
        return None

    def _is_of_constructor(self, value: cst.BaseExpression) -> bool:
        """Whether a value is assigned before there is anything to tell."""
        home = self._scope.program.tree.function(value)
        return home is None or isinstance(home, cst.FunctionDef) and home.name.value == "__init__"

    def _tells_of_step(self, value: cst.BaseExpression) -> bool:
        """Whether a value is computed from a scale, or asks in its words whether a step was taken."""
        found = words(value)
        return vocabulary.asks_for_step(" ".join(found)) or not self._scope.scale_names.isdisjoint(found)

    def _comparison(self, node: cst.Comparison, target: cst.ComparisonTarget, depth: int) -> Condition:
        left, right, operator = node.left, target.comparator, target.operator
        equality = isinstance(operator, (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual))
        if equality and isinstance(right, cst.Name) and right.value == "None":
            present = (
                self._truth(left, depth) if isinstance(left, (cst.Name, cst.Attribute)) else self._test(left, "config")
            )
            return Not(present) if isinstance(operator, (cst.Is, cst.Equal)) else present
        if equality:
            equal = self._equality(left, right)
            return Not(equal) if isinstance(operator, (cst.NotEqual, cst.IsNot)) else equal
        if isinstance(operator, (cst.In, cst.NotIn)):
            key = f"({self.normal(left)} in {self.normal(right)})"
            refs = frozenset(self._refs(node))
            told = precision_tests.contains(key, refs, left, right)
            test = Test(key, refs, self.kinds.of_equality(self.kinds.of(node), left, right))
            values = displayed_choices(right) if test.kind == "config" else []
            inside = told or (self._one_of(left, values) if values else test)
            return Not(inside) if isinstance(operator, cst.NotIn) else inside
        fell = scale_comparisons.fell(left, operator, right, self._scope.scale_names)
        if fell is None:
            return self._test(node, self.kinds.of_order(node))
        skipped = self._test(node, "skipped")
        return skipped if fell else Not(skipped)

    def _one_of(self, option: cst.BaseExpression, values: Sequence[cst.BaseExpression]) -> Condition:
        """Whether an option has any of some values, which other questions for single ones are held against."""
        tests = tuple(self._equality(option, each) for each in values)
        return Both(tests, any_of=True) if len(tests) > 1 else tests[0]

    def _equality(self, left: cst.BaseExpression, right: cst.BaseExpression) -> Condition:
        if isinstance(left, (cst.SimpleString, cst.Integer)) or (enumeration_of(left) and not enumeration_of(right)):
            left, right = right, left
        if isinstance(right, cst.Name) and right.value in ("True", "False"):
            truth = self.read(left)
            return truth if right.value == "True" else Not(truth)
        sides = self.normal(left), self.normal(right)
        key = f"({sides[0]} == {sides[1]})"
        refs = frozenset((*self._refs(left), *self._refs(right)))
        if sides[0] == sides[1]:
            return Test(key, refs, self.kinds.of_self_comparison(left))
        told = precision_tests.equals(key, refs, left, right)
        if told is not None:
            return told
        if vocabulary.STEP_GATE.search(" ".join((*words(left), *words(right)))):
            return Test(key, refs, "gate")
        kind = "config" if is_choice(right) else self.kinds.of_equality(self.kinds.of(left, right), left, right)
        return self._choices.told(Test(key, refs, kind), self.normal(left), right)

    def _test(self, node: cst.BaseExpression, kind: str) -> Test:
        return Test(self.normal(node), frozenset(self._refs(node)), kind)

    def normal(self, node: cst.CSTNode) -> str:
        """A text that is equal for equal expressions, with references in angle quotes."""
        if is_reference(node):
            reference = self._reference(node)
            if reference:
                return f"‹{reference}›"
        if type(node) is cst.Name:
            return node.value
        if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString)):
            return repr(node.evaluated_value)
        return f"{type(node).__name__}({','.join(self.normal(child) for child in children(node))})"

    def _refs(self, node: cst.CSTNode) -> Iterator[str]:
        if is_reference(node) and (reference := self._reference(node)):
            yield reference
            return
        for child in children(node):
            yield from self._refs(child)

    def _reference(self, node: cst.BaseExpression) -> str:
        other_name = self._settings.other_name(node) if type(node) is cst.Attribute else ""
        return other_name or self._ref(node)


def _answers_alike(call: cst.Call) -> bool:
    """Whether a call gives the same answer whenever it is asked, so that a name may stand for it."""
    return called_name(call) == "is_enabled" or not option_reads.asks_anything_else(call)


def asks_for_trouble(node: cst.BaseExpression) -> bool:
    """Whether a condition asks for overflows, NaN, or a batch that is to be left out."""
    found = " ".join(words(node))
    return vocabulary.STEP_GATE.search(found) is not None or vocabulary.TROUBLE.search(found) is not None


def constant(node: cst.CSTNode) -> bool | None:
    """The truth of `True`, `False` and `None`; None for anything else."""
    if type(node) is cst.Name and node.value in ("True", "False", "None"):
        return node.value == "True"
    return None
