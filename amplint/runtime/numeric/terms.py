"""Reading expressions: from the author's syntax to operations of the closed list, without running any of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import libcst as cst

from amplint.lowering.dtypes.frames import Frame
from amplint.lowering.dtypes.values import Class, DType, Function, Instance, Layer, Number, Tensor, Value
from amplint.lowering.names import dotted
from amplint.model import precision
from amplint.runtime.numeric.expression import (
    Apply,
    Constant,
    Expression,
    Items,
    Operand,
    Outside,
    Thing,
    is_raw,
)  # fmt: skip
from amplint.runtime.numeric.facts import Facts
from amplint.runtime.numeric.operations import ATTRIBUTES, CONSTANTS

_BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.Power: "pow",
    cst.MatrixMultiply: "matmul", cst.FloorDivide: "floordiv", cst.Modulo: "mod", cst.BitAnd: "and_", cst.BitOr: "or_",
    cst.BitXor: "xor", cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul",
    cst.DivideAssign: "truediv", cst.PowerAssign: "pow", cst.MatrixMultiplyAssign: "matmul",
}  # fmt: skip
_COMPARING: dict[type[cst.CSTNode], str] = {
    cst.Equal: "eq", cst.NotEqual: "ne", cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt",
    cst.GreaterThanEqual: "ge",
}  # fmt: skip
_UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert"}
_LITERALS: dict[str, object] = {"True": True, "False": False, "None": None}


@dataclass(eq=False)
class Scope:
    """A body that is read: what its names and attributes hold by now."""

    frame: Frame
    held: dict[str, Expression] = field(default_factory=dict)
    returned: Expression | None = None
    left: bool = False
    """Whether what follows is not reached: after a `return`, `raise`, `break` or `continue`."""


class Terms(ABC):
    """Reads expressions; calls and choices are left to the floors above."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.tree = facts.file.tree

    @abstractmethod
    def call(self, node: cst.Call, scope: Scope) -> Expression:
        """What a call comes to."""

    @abstractmethod
    def chosen(self, node: cst.IfExp, scope: Scope) -> cst.BaseExpression:
        """The side of a conditional expression that is taken."""

    def read(self, node: cst.BaseExpression, scope: Scope) -> Expression:
        """What an expression comes to; `Outside` where it needs something that is not on the closed list."""
        if isinstance(node, (cst.Integer, cst.Float)):
            return Constant(node.evaluated_value)
        if isinstance(node, cst.Name):
            return self._name(node, scope)
        if isinstance(node, cst.Attribute):
            return self._attribute(node, scope)
        if isinstance(node, cst.Call):
            return self.call(node, scope)
        if isinstance(node, cst.BinaryOperation):
            op = _BINARY.get(type(node.operator), "")
            return self.operator(op, (self.read(node.left, scope), self.read(node.right, scope)), node, scope)
        if isinstance(node, cst.UnaryOperation):
            op = _UNARY.get(type(node.operator), "")
            return self.operator(op, (self.read(node.expression, scope),), node, scope)
        return self._compound(node, scope)

    def _compound(self, node: cst.BaseExpression, scope: Scope) -> Expression:
        if isinstance(node, cst.SimpleString):
            return Constant(node.evaluated_value)
        if isinstance(node, cst.Ellipsis):
            return Constant(...)
        if isinstance(node, (cst.Tuple, cst.List)):
            if any(isinstance(element, cst.StarredElement) for element in node.elements):
                return Outside(self.words(node))
            items = tuple(self.read(element.value, scope) for element in node.elements)
            return Items(items, isinstance(node, cst.List))
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
            return Items((self.read(node.elt, scope),), is_list=True)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            return self._comparison(node, scope)
        return Outside(self.words(node))

    # -- names -------------------------------------------------------------------------------------------------------

    def _name(self, node: cst.Name, scope: Scope) -> Expression:
        if node.value not in scope.held:
            if node.value in _LITERALS:
                return Constant(_LITERALS[node.value])
            scope.held[node.value] = self.from_outside(node, scope)
        return scope.held[node.value]

    def _attribute(self, node: cst.Attribute, scope: Scope) -> Expression:
        path, name = dotted(node), node.attr.value
        if path in scope.held:
            return scope.held[path]
        meanings = self.facts.names.resolve(node)
        if len(meanings) == 1 and (meaning := next(iter(meanings))) in CONSTANTS:
            return Constant(CONSTANTS[meaning])
        seen = self.facts.seen(node, scope.frame)
        if isinstance(seen.value, (DType, Number)) and not (name == "dtype" and isinstance(seen.value, DType)):
            return self.known(seen.value) or Outside(path)
        base = self.read(node.value, scope)
        if isinstance(base, Thing):
            return self._of_object(node, base.value, scope)
        computed = isinstance(base, Apply) or (isinstance(base, Operand) and base.dtype != precision.UNKNOWN)
        if name in ATTRIBUTES and (computed or isinstance(base, Operand)):
            return Apply(f"attribute.{name}", (base,), (), seen.region, seen.graded, node)
        if isinstance(base, Apply) and base.op == "torch.finfo":
            return Apply(f"attribute.{name}", (base,), (), seen.region, seen.graded, node)
        if isinstance(base, Apply):
            return Outside(f".{name}")
        found = self.from_outside(node, scope)
        if path:
            scope.held[path] = found
        return found

    def _of_object(self, node: cst.Attribute, owner: Value, scope: Scope) -> Expression:
        name = node.attr.value
        value = owner.attributes.get(name) if isinstance(owner, Instance) else None
        found = self.known(value) if value is not None else None
        if found is None and isinstance(owner, Instance):
            values = self.facts.classes.by_node[owner.cls].values(name)
            found = self._literal(values[0]) if len(values) == 1 else None
        found = found or self.from_outside(node, scope, value)
        if dotted(node):
            scope.held[dotted(node)] = found
        return found

    def _literal(self, node: cst.BaseExpression) -> Expression | None:
        """A constant that an attribute is set to, by itself or as the default of a parameter."""
        if isinstance(node, cst.Name) and node.value not in _LITERALS:
            function = self.tree.enclosing(node, cst.FunctionDef)
            params = function.params.params if isinstance(function, cst.FunctionDef) else ()
            defaults = [param.default for param in params if param.name.value == node.value]
            node = next((default for default in defaults if default is not None), node)
        if isinstance(node, cst.SimpleString):
            return Constant(node.evaluated_value)
        return Constant(_LITERALS[node.value]) if isinstance(node, cst.Name) and node.value in _LITERALS else None

    @staticmethod
    def known(value: Value) -> Expression | None:
        """The expression of a value that the dtype flow knows entirely, or that is no tensor."""
        if isinstance(value, Number):
            return None if value.value is None else Constant(_whole(value.value))
        if isinstance(value, DType):
            return Constant(value) if value.name != precision.UNKNOWN else None
        if isinstance(value, (Function, Class, Instance, Layer)):
            return Thing(value)
        return None

    def from_outside(
        self, node: cst.BaseExpression, scope: Scope, value: Value | None = None, dtype: str = ""
    ) -> Expression:
        """An expression that nothing but its dtype is known of, as an operand."""
        value = self.facts.seen(node, scope.frame).value if value is None else value
        found = self.known(value)
        if found is not None:
            return found
        tensor = value if isinstance(value, Tensor) else Tensor()
        setting = isinstance(node, cst.Attribute) and tensor.dtype == precision.UNKNOWN or isinstance(value, Number)
        name = dtype or tensor.dtype
        return Operand(self.words(node), name, tensor.low, tensor.high, tensor.detached, setting)

    def words(self, node: cst.CSTNode) -> str:
        """The source of a node in one line."""
        return " ".join(self.tree.text(node).split())

    # -- operators ---------------------------------------------------------------------------------------------------

    def operator(self, op: str, operands: tuple[Expression, ...], node: cst.CSTNode, scope: Scope) -> Expression:
        """An operator on operands."""
        if not op:
            return Outside(self.words(node))
        if all(isinstance(operand, Constant) for operand in operands):
            return self.folded(f"operator.{op}", operands) or Outside(self.words(node))
        if op == "add" and all(isinstance(operand, Items) for operand in operands):
            return Items(
                tuple(item for operand in operands if isinstance(operand, Items) for item in operand.items), True
            )
        return self.apply(f"operator.{op}", operands, (), node, scope)

    @abstractmethod
    def folded(self, op: str, operands: tuple[Expression, ...]) -> Expression | None:
        """What an operation on constants comes to."""

    def apply(
        self,
        op: str,
        arguments: tuple[Expression, ...],
        keywords: tuple[tuple[str, Expression], ...],
        node: cst.CSTNode,
        scope: Scope,
    ) -> Expression:
        """An operation of the closed list, where it stands."""
        for part in (*arguments, *(value for _, value in keywords)):
            if isinstance(part, Outside):
                return part
            if isinstance(part, Thing):
                return Outside(self.words(node))
        seen = self.facts.seen(node, scope.frame)
        made = Apply(op, arguments, keywords, seen.region, seen.graded, node)
        return self.cut(made, scope)

    def cut(self, made: Apply, scope: Scope) -> Expression:
        """The product of two values from outside is one as well: whatever half precision holds may come out."""
        name = made.op.rpartition(".")[2]
        lowers = precision.policy(name, "cuda") is precision.Policy.LOWER
        if not (lowers and is_raw(made.arguments[0]) and all(map(is_raw, made.arguments))):
            return made
        tensor = self.facts.seen(made.node, scope.frame).value
        dtype = tensor.dtype if isinstance(tensor, Tensor) and tensor.dtype != precision.UNKNOWN else ""
        detached = isinstance(tensor, Tensor) and tensor.detached
        return Operand(self.words(made.node), dtype or precision.FLOAT32, -float("inf"), float("inf"), detached)

    def _comparison(self, node: cst.Comparison, scope: Scope) -> Expression:
        target = node.comparisons[0]
        left, right = self.read(node.left, scope), self.read(target.comparator, scope)
        if isinstance(target.operator, (cst.Is, cst.IsNot)):
            if isinstance(right, Constant) and right.value is None and not isinstance(left, Outside):
                is_none = isinstance(left, Constant) and left.value is None
                unknown = isinstance(left, Operand) and left.setting
                return (
                    Outside(self.words(node)) if unknown else Constant(is_none == isinstance(target.operator, cst.Is))
                )
            return Outside(self.words(node))
        return self.operator(_COMPARING.get(type(target.operator), ""), (left, right), node, scope)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _dictionary(self, node: cst.Dict, scope: Scope) -> Expression:
        keys: list[object] = []
        items: list[Expression] = []
        for element in node.elements:
            key = self.read(element.key, scope) if isinstance(element, cst.DictElement) else None
            if not isinstance(key, Constant):
                return Outside(self.words(node))
            keys.append(key.value)
            items.append(self.read(element.value, scope))
        return Items(tuple(items), keys=tuple(keys))

    def _subscript(self, node: cst.Subscript, scope: Scope) -> Expression:
        base = self.read(node.value, scope)
        index = self.index(node, scope)
        if isinstance(base, Items) and isinstance(index, Constant):
            places = base.keys or tuple(range(len(base.items)))
            at = index.value
            if base.keys is None and isinstance(at, int) and at < 0:
                at += len(base.items)
            return base.items[places.index(at)] if at in places else Outside(self.words(node))
        if isinstance(base, Operand) and isinstance(index, Constant) and isinstance(index.value, str):
            return self.from_outside(node, scope)  # batch["target"]
        return self.apply("subscript.getitem", (base, index), (), node, scope)

    def index(self, node: cst.Subscript, scope: Scope) -> Expression:
        """What stands between the brackets."""
        found: list[Expression] = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                found.append(self.read(element.slice.value, scope))
            elif isinstance(element.slice, cst.Slice):
                bounds = (element.slice.lower, element.slice.upper, element.slice.step)
                read = tuple(Constant(None) if each is None else self.read(each, scope) for each in bounds)
                found.append(self.apply("subscript.slice", read, (), node, scope))
        return found[0] if len(found) == 1 else Items(tuple(found))


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) and abs(value) < 1e6 else value
