"""Reading expressions: from the author's syntax to operations of the closed list, without running any of it."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from amplint.dtypes.values import DType, Tensor
from amplint.model.torch import precision
from amplint.model.torch.operators import Policy, policy
from amplint.runtime.numeric import operations
from amplint.runtime.numeric.expression import (
    Apply,
    Container,
    Expression,
    Literal,
    Operand,
    Outside,
    is_raw,
    unlisted,
)  # fmt: skip
from amplint.runtime.numeric.sources import BodyScope, Sources
from amplint.syntax.names import dotted
from amplint.syntax.nodes import is_sequence

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.Power: "pow",
    cst.MatrixMultiply: "matmul", cst.FloorDivide: "floordiv", cst.Modulo: "mod", cst.BitAnd: "and_", cst.BitOr: "or_",
    cst.BitXor: "xor", cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul",
    cst.DivideAssign: "truediv", cst.PowerAssign: "pow", cst.MatrixMultiplyAssign: "matmul",
    cst.FloorDivideAssign: "floordiv", cst.ModuloAssign: "mod", cst.BitAndAssign: "and_", cst.BitOrAssign: "or_",
    cst.BitXorAssign: "xor",
}  # fmt: skip
"""The operators of expressions and of augmented assignments, by the names that `operator` has for them."""
_COMPARING: dict[type[cst.CSTNode], str] = {
    cst.Equal: "eq", cst.NotEqual: "ne", cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt",
    cst.GreaterThanEqual: "ge",
}  # fmt: skip
_UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert"}


class Terms(Sources):
    """Reads expressions; calls and choices are left to the floors above."""

    @abstractmethod
    def call(self, node: cst.Call, scope: BodyScope) -> Expression:
        """What a call comes to.

        Args:
            node: the call.
            scope: what names hold by now.
        """

    @abstractmethod
    def chosen(self, node: cst.IfExp, scope: BodyScope) -> cst.BaseExpression:
        """The side of a conditional expression that is taken.

        Args:
            node: the conditional expression.
            scope: what names hold by now.
        """

    def read(self, node: cst.BaseExpression, scope: BodyScope) -> Expression:
        """What an expression comes to; `Outside` where it needs something that is not on the closed list.

        Args:
            node: any expression.
            scope: what names hold by now.
        """
        if isinstance(node, (cst.Integer, cst.Float)):
            return Literal(node.evaluated_value)
        if isinstance(node, cst.Name):
            return self.name(node, scope)
        if isinstance(node, cst.Attribute):
            return self.attribute(node, scope)
        if isinstance(node, cst.Call):
            return self.call(node, scope)
        if isinstance(node, cst.BinaryOperation):
            op = BINARY.get(type(node.operator), "")
            return self.operator(op, (self.read(node.left, scope), self.read(node.right, scope)), node, scope)
        if isinstance(node, cst.UnaryOperation):
            op = _UNARY.get(type(node.operator), "")
            return self.operator(op, (self.read(node.expression, scope),), node, scope)
        return self._compound(node, scope)

    def _compound(self, node: cst.BaseExpression, scope: BodyScope) -> Expression:
        if isinstance(node, cst.SimpleString):
            return Literal(node.evaluated_value)
        if isinstance(node, cst.Ellipsis):
            return Literal(...)
        if is_sequence(node):
            if any(isinstance(element, cst.StarredElement) for element in node.elements):
                return Outside(self.words(node))
            items = tuple(self.read(element.value, scope) for element in node.elements)
            return Container(items, isinstance(node, cst.List))
        if isinstance(node, cst.Dict):
            return self._dictionary(node, scope)
        if isinstance(node, cst.Subscript):
            return self._subscript(node, scope)
        if isinstance(node, cst.IfExp):
            return self.read(self.chosen(node, scope), scope)
        if isinstance(node, cst.NamedExpr):
            value = self.read(node.value, scope)
            scope.held[dotted(node.target)] = value
            return value
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            return Container((self.read(node.elt, scope),), is_list=True)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            return self._comparison(node, scope)
        return Outside(self.words(node))

    # -- operators ---------------------------------------------------------------------------------------------------

    def operator(self, op: str, operands: tuple[Expression, ...], node: cst.CSTNode, scope: BodyScope) -> Expression:
        """An operator on operands.

        Args:
            op: the name of the function of torch that the operator stands for.
            operands: what it combines.
            node: where it stands.
            scope: what names hold by now.
        """
        if not op:
            return Outside(self.words(node))
        if all(isinstance(operand, Literal) for operand in operands):
            return self.folded(f"operator.{op}", operands) or Outside(self.words(node))
        if op == "add" and all(isinstance(operand, Container) for operand in operands):
            return Container(
                tuple(item for operand in operands if isinstance(operand, Container) for item in operand.items), True
            )
        return self.apply(f"operator.{op}", operands, (), node, scope)

    def folded(self, op: str, operands: tuple[Expression, ...]) -> Expression | None:
        """What an operation on constants comes to; None where it needs more than Python numbers.

        Args:
            op: the name of the operation.
            operands: what it combines.
        """
        values = [operand.value for operand in operands if isinstance(operand, Literal)]
        if len(values) != len(operands) or any(isinstance(value, DType) for value in values):
            return None
        try:
            return Literal(operations.function(op)(*values))
        except (ArithmeticError, TypeError, ValueError, KeyError):
            return None

    def apply(
        self,
        op: str,
        arguments: tuple[Expression, ...],
        keywords: tuple[tuple[str, Expression], ...],
        node: cst.CSTNode,
        scope: BodyScope,
    ) -> Expression:
        """An operation of the closed list, where it stands.

        Args:
            op: the name of the operation.
            arguments: those given by position.
            keywords: those given by name.
            node: where it stands.
            scope: what names hold by now.
        """
        foreign = unlisted((*arguments, *(value for _, value in keywords)))
        if foreign is not None:
            return foreign if isinstance(foreign, Outside) else Outside(self.words(node))
        seen = self.facts.seen(node, scope.frame)
        made = Apply(op, arguments, keywords, seen.region, seen.graded, node)
        return self.cut(made, scope)

    def cut(self, made: Apply, scope: BodyScope) -> Expression:
        """The product of two values from outside is one as well: whatever half precision holds may come out."""
        name = made.op.rpartition(".")[2]
        lowers = policy(name, "cuda") is Policy.LOWER
        if not (lowers and is_raw(made.arguments[0]) and all(map(is_raw, made.arguments))):
            return made
        tensor = self.facts.seen(made.node, scope.frame).value
        dtype = tensor.dtype if isinstance(tensor, Tensor) and tensor.dtype != precision.UNKNOWN else ""
        detached = isinstance(tensor, Tensor) and tensor.detached
        return Operand(self.words(made.node), dtype or precision.FLOAT32, -float("inf"), float("inf"), detached)

    def _comparison(self, node: cst.Comparison, scope: BodyScope) -> Expression:
        target = node.comparisons[0]
        left, right = self.read(node.left, scope), self.read(target.comparator, scope)
        if isinstance(target.operator, (cst.Is, cst.IsNot)):
            if isinstance(right, Literal) and right.value is None and not isinstance(left, Outside):
                is_none = isinstance(left, Literal) and left.value is None
                unknown = isinstance(left, Operand) and left.setting
                return Outside(self.words(node)) if unknown else Literal(is_none == isinstance(target.operator, cst.Is))
            return Outside(self.words(node))
        return self.operator(_COMPARING.get(type(target.operator), ""), (left, right), node, scope)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _dictionary(self, node: cst.Dict, scope: BodyScope) -> Expression:
        keys: list[object] = []
        items: list[Expression] = []
        for element in node.elements:
            key = self.read(element.key, scope) if isinstance(element, cst.DictElement) else None
            if not isinstance(key, Literal):
                return Outside(self.words(node))
            keys.append(key.value)
            items.append(self.read(element.value, scope))
        return Container(tuple(items), keys=tuple(keys))

    def _subscript(self, node: cst.Subscript, scope: BodyScope) -> Expression:
        base = self.read(node.value, scope)
        index = self.index(node, scope)
        if isinstance(base, Container) and isinstance(index, Literal):
            places = base.keys or tuple(range(len(base.items)))
            at = index.value
            if base.keys is None and isinstance(at, int) and at < 0:
                at += len(base.items)
            return base.items[places.index(at)] if at in places else Outside(self.words(node))
        if isinstance(base, Container) and base.keys is not None:
            return Outside(self.words(node))
        if isinstance(base, Operand) and isinstance(index, Literal) and isinstance(index.value, str):
            return self.from_outside(node, scope)  # batch["target"]
        return self.apply("subscript.getitem", (base, index), (), node, scope)

    def index(self, node: cst.Subscript, scope: BodyScope) -> Expression:
        """What stands between the brackets.

        Args:
            node: the subscription.
            scope: what names hold by now.
        """
        found: list[Expression] = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                found.append(self.read(element.slice.value, scope))
            elif isinstance(element.slice, cst.Slice):
                bounds = (element.slice.lower, element.slice.upper, element.slice.step)
                read = tuple(Literal(None) if each is None else self.read(each, scope) for each in bounds)
                found.append(self.apply("subscript.slice", read, (), node, scope))
        return found[0] if len(found) == 1 else Container(tuple(found))
