"""The dtype flow through expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod

import libcst as cst

from amplint.dtypes.arithmetic import truth
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import join_values, read, unknown
from amplint.dtypes.literals import literal
from amplint.dtypes.precision_tests import asks_about_region
from amplint.dtypes.texts import compared
from amplint.dtypes.value_parts import ValueParts
from amplint.dtypes.values import (
    NOTHING,
    UNKNOWN,
    Arguments,
    Closure,
    DType,
    GivenFlag,
    GivenText,
    Items,
    Number,
    Tensor,
    Value,
)
from amplint.model.records import changed
from amplint.model.torch import precision
from amplint.roles.autocast_contexts import Contexts
from amplint.roles.user_options import is_number_option
from amplint.syntax.constant_tests import combined
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "div", cst.Power: "pow",
    cst.MatrixMultiply: "matmul", cst.FloorDivide: "floor_divide", cst.Modulo: "remainder",
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "div",
    cst.PowerAssign: "pow", cst.MatrixMultiplyAssign: "matmul",
}  # fmt: skip

_DIFFERENT = (cst.NotEqual, cst.IsNot, cst.NotIn)


CONSTANTS = ("None", "True", "False")
"""What branches ask for that a call may say."""


class OutOfBudget(Exception):
    """The file takes more evaluation than a linter may spend."""


class Expressions(ValueParts, ABC):
    """Evaluates expressions; calls are left to the floor above.

    Args:
        tree: the file.
        names: what its names mean.
        contexts: the autocast regions that it enters.
        budget: how many expressions may be evaluated.
    """

    def __init__(self, tree: Tree, names: Names, contexts: Contexts, budget: int) -> None:
        super().__init__(tree, names, contexts)
        self._budget = budget

    @abstractmethod
    def call(self, node: cst.Call, frame: StackFrame) -> Value:
        """What a call gives back.

        Args:
            node: the call.
            frame: where evaluation stands.
        """

    def evaluate(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        self._budget -= 1
        if self._budget < 0:
            raise OutOfBudget
        # Asked of every expression: `isinstance` is many times slower to deny, for nodes are abstract classes.
        if type(node) is cst.Name:
            return self.named(node, frame)
        if type(node) is cst.Attribute:
            return self.attribute(node, frame)
        if type(node) is cst.Call:
            return self.call(node, frame)
        if type(node) is cst.BinaryOperation:
            return self.binary(BINARY.get(type(node.operator), ""), node, node.left, node.right, frame)
        if type(node) is cst.UnaryOperation:
            return self._unary(node, frame)
        if type(node) is cst.Integer or type(node) is cst.Float:
            return literal(node)
        if type(node) is cst.SimpleString:
            return UNKNOWN
        return self._compound(node, frame)

    def _compound(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        if type(node) is cst.Tuple or type(node) is cst.List:
            return self.display(node.elements, frame)
        if type(node) is cst.Subscript:
            return self.subscript(node, frame)
        if type(node) is cst.Dict or type(node) is cst.DictComp:
            return self.dictionary(node, frame)
        if type(node) is cst.IfExp:
            self.evaluate(node.test, frame)
            decided = self.asked(node.test, frame)
            if decided is not None:
                return self.evaluate(node.body if decided else node.orelse, frame)
            return read(join_values(self.assigned(node.body, frame), self.assigned(node.orelse, frame)))
        if type(node) is cst.NamedExpr:
            value = self.evaluate(node.value, frame)
            self.assign(node.target, value, frame)
            return value
        if type(node) is cst.Lambda:
            return Closure(node, frame)
        if type(node) is cst.ListComp or type(node) is cst.GeneratorExp or type(node) is cst.SetComp:
            self.bind_loop(node.for_in, frame)
            return self.evaluate(node.elt, frame)
        if type(node) is cst.Comparison:
            parts = Arguments(values=tuple(self.parts_of(node, frame)))
            return self.record("compare", parts, truth(node), node, frame) if parts.tensors else truth(node)
        if type(node) is cst.Await:
            return self.evaluate(node.expression, frame)
        if type(node) is cst.BooleanOperation and type(node.operator) is cst.Or:
            return self._first_given(self.evaluate(node.left, frame), self.evaluate(node.right, frame))
        return unknown(*self.parts_of(node, frame))

    def assigned(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        """The value that something is given, where `None` tells that it may be no module; whoever reads it learns nothing.

        Args:
            node: the expression that is assigned, or returned.
            frame: where evaluation stands.
        """
        return NOTHING if type(node) is cst.Name and node.value == "None" else self.evaluate(node, frame)

    @staticmethod
    def _first_given(one: Value, other: Value) -> Value:
        """What `one or other` is: a number, where a number stands in for an option that is not given (`scale or dim ** -0.5`)."""
        option = isinstance(one, Tensor) and one.dtype == precision.UNKNOWN and not one.through
        return Number() if isinstance(other, Number) and (option or isinstance(one, Number)) else unknown(one, other)

    def constant(self, node: cst.BaseExpression, frame: StackFrame) -> str:
        """The constant (None, True or False) that an expression is, or at which the call of the function leaves a parameter that
        it names, if nothing in the function changes that; empty for any other expression.

        Args:
            node: the expression.
            frame: where evaluation stands.
        """
        name = node.value if isinstance(node, cst.Name) else ""
        if name in CONSTANTS or not frame.constants:
            return name if name in CONSTANTS else ""
        said = dict(frame.constants).get(name, "")
        return said if said and len(self.names.bindings(name, node)) == 1 else ""

    def asked(self, test: cst.BaseExpression, frame: StackFrame) -> bool | None:
        """The answer to a test such as `x.dtype == torch.float16`, `torch.is_autocast_enabled()` in a region, or
        `kind == "squared"` where a constructor was given a text; None where it is not known, or something else is asked.

        Args:
            test: the condition.
            frame: where evaluation stands.
        """
        if type(test) is cst.BooleanOperation:
            is_or = type(test.operator) is cst.Or
            return combined(self.asked(test.left, frame), self.asked(test.right, frame), decisive=is_or)
        if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
            answer = self.asked(test.expression, frame)
            return None if answer is None else not answer
        if type(test) is cst.Call:
            return asks_about_region(test, frame.region, self.names) or None
        if type(test) is cst.Name:
            bound = self.names.bindings(test.value, test)
            known = frame.known_tests.get(id(bound[0].value)) if len(bound) == 1 else None
            default = self.constant(test, frame)
            return default == "True" if default else known
        if type(test) is cst.Attribute:
            held = self.evaluate(test, frame)
            return held.truth if isinstance(held, GivenFlag) else None
        if type(test) is not cst.Comparison or len(test.comparisons) != 1:
            return None
        asked, comparison = self.evaluate(test.left, frame), test.comparisons[0]
        if self.constant(test.left, frame) == "None":
            return _is_none(comparison)
        if isinstance(asked, GivenText):
            return compared(asked.value, comparison, self.names)
        return self._asked_dtype(asked, comparison, frame) if isinstance(asked, DType) else None

    def _asked_dtype(self, asked: DType, comparison: cst.ComparisonTarget, frame: StackFrame) -> bool | None:
        given = self.evaluate(comparison.comparator, frame)
        candidates = given.items if isinstance(given, Items) else (given,)
        names = [each.name for each in (asked, *candidates) if isinstance(each, DType)]
        if len(names) != 1 + len(candidates) or {precision.UNKNOWN, precision.EITHER_HALF} & {*names}:
            return None
        if isinstance(comparison.operator, (cst.Equal, cst.Is, cst.In)):
            return names[0] in names[1:]
        return names[0] not in names[1:] if isinstance(comparison.operator, _DIFFERENT) else None

    def _unary(self, node: cst.UnaryOperation, frame: StackFrame) -> Value:
        value = self.evaluate(node.expression, frame)
        if isinstance(value, Number):
            negative = isinstance(node.operator, cst.Minus) and value.value is not None
            return changed(value, value=-value.value if negative and value.value is not None else None)
        if isinstance(value, Tensor) and isinstance(node.operator, cst.BitInvert):
            return changed(value, made=node)
        if isinstance(value, Tensor) and isinstance(node.operator, cst.Minus):
            return value.derived(node, low=-value.high, high=-value.low, core=value.core)
        return unknown(value)

    def _is_setting(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a number that the user has chosen, as it stands or by the only name that it was given."""
        if type(node) is cst.Name:
            bindings = self.names.bindings(node.value, node)
            value = bindings[0].value if len(bindings) == 1 else None
            return value is not None and not isinstance(value, cst.Name) and self._is_setting(value)
        return is_number_option(node)

    def binary(
        self, op: str, node: cst.CSTNode, left: cst.BaseExpression, right: cst.BaseExpression, frame: StackFrame,
        in_place: bool = False,
    ) -> Value:  # fmt: skip
        """A binary operation, also that of an augmented assignment.

        Args:
            op: the name of the function of torch that the operator stands for.
            node: the expression that computes it.
            left: the first operand.
            right: the second operand.
            frame: where evaluation stands.
            in_place: whether it is an augmented assignment, which overwrites a tensor.
        """
        one, other = self.evaluate(left, frame), self.evaluate(right, frame)
        if op == "add" and isinstance(one, Items) and isinstance(other, Items):
            return Items((*one.items, *other.items))
        if one == UNKNOWN and self._is_setting(left):
            one = Number()
        if other == UNKNOWN and self._is_setting(right):
            other = Number()
        return self.combine(op, node, one, other, frame, left, right, in_place)


def _is_none(comparison: cst.ComparisonTarget) -> bool | None:
    """What a comparison of None with something answers; None unless it asks for None itself."""
    if dotted(comparison.comparator) != "None":
        return None
    same = isinstance(comparison.operator, (cst.Is, cst.Equal))
    return same or (False if isinstance(comparison.operator, (cst.IsNot, cst.NotEqual)) else None)
