"""The dtype flow through expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from amplint.dtypes import containers
from amplint.dtypes.arithmetic import truth
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import join_values, unknown
from amplint.dtypes.literals import SIZE, item, joined, limit, literal
from amplint.dtypes.operators import Operators
from amplint.dtypes.values import (
    UNKNOWN,
    Arguments,
    Choice,
    Closure,
    DType,
    Finfo,
    Instance,
    Items,
    Layer,
    Number,
    Record,
    Tensor,
    Value,
)
from amplint.model.torch import precision
from amplint.roles.autocast_contexts import Contexts
from amplint.roles.user_options import is_number_option
from amplint.syntax.names import Names
from amplint.syntax.nodes import children
from amplint.syntax.tree import Tree

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "div", cst.Power: "pow",
    cst.MatrixMultiply: "matmul", cst.FloorDivide: "floor_divide", cst.Modulo: "remainder",
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "div",
    cst.PowerAssign: "pow", cst.MatrixMultiplyAssign: "matmul",
}  # fmt: skip

_DTYPES = {
    **precision.DTYPES, "torch.bool": precision.BOOL,
    **{f"torch.{name}": precision.INTEGER for name in "int int8 int16 int32 int64 long short uint8".split()},
}  # fmt: skip


_DIFFERENT = (cst.NotEqual, cst.IsNot, cst.NotIn)


class OutOfBudget(Exception):
    """The file takes more evaluation than a linter may spend."""


class Expressions(Operators, ABC):
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

    @abstractmethod
    def attribute_of(self, instance: Instance, name: str, frame: StackFrame) -> Value:
        """An attribute of an object.

        Args:
            instance: the object, of a class of this file.
            name: the attribute.
            frame: where evaluation stands.
        """

    @abstractmethod
    def definition(self, node: cst.Name) -> Value | None:
        """The function or class of this file that a name stands for."""

    def evaluate(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        """What is known about the value of an expression.

        Args:
            node: any expression.
            frame: where evaluation stands.

        Raises:
            OutOfBudget: too much was evaluated.
        """
        self._budget -= 1
        if self._budget < 0:
            raise OutOfBudget
        # Asked of every expression: `isinstance` is many times slower to deny, for nodes are abstract classes.
        if type(node) is cst.Name:
            return self._name(node, frame)
        if type(node) is cst.Attribute:
            return self._attribute(node, frame)
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
            return self._items(node.elements, frame)
        if type(node) is cst.Subscript:
            return self._subscript(node, frame)
        if type(node) is cst.Dict or type(node) is cst.DictComp:
            return self._record(node, frame)
        if type(node) is cst.IfExp:
            self.evaluate(node.test, frame)
            decided = self.asked_dtype(node.test, frame)
            if decided is not None:
                return self.evaluate(node.body if decided else node.orelse, frame)
            return join_values(self.evaluate(node.body, frame), self.evaluate(node.orelse, frame))
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
            parts = Arguments(values=tuple(self._parts(node, frame)))
            return self.record("compare", parts, truth(node), node, frame) if parts.tensors else truth(node)
        if type(node) is cst.Await:
            return self.evaluate(node.expression, frame)
        return unknown(*self._parts(node, frame))

    def asked_dtype(self, test: cst.BaseExpression, frame: StackFrame) -> bool | None:
        """The answer to a test such as `x.dtype == torch.float16`; None where it is not known, or something else is asked.

        Args:
            test: the condition.
            frame: where evaluation stands.
        """
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
            return None
        asked, comparison = self.evaluate(test.left, frame), test.comparisons[0]
        given = self.evaluate(comparison.comparator, frame)
        candidates = given.items if isinstance(given, Items) else (given,)
        names = [each.name for each in (asked, *candidates) if isinstance(each, DType)]
        if len(names) != 1 + len(candidates) or {precision.UNKNOWN, precision.EITHER_HALF} & {*names}:
            return None
        if isinstance(comparison.operator, (cst.Equal, cst.Is, cst.In)):
            return names[0] in names[1:]
        return names[0] not in names[1:] if isinstance(comparison.operator, _DIFFERENT) else None

    def _parts(self, node: cst.CSTNode, frame: StackFrame) -> list[Value]:
        values: list[Value] = []
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                values.append(self.evaluate(child, frame))
            else:
                values.extend(self._parts(child, frame))
        return values

    # -- names and parts -------------------------------------------------------------------------------------------

    def _name(self, node: cst.Name, frame: StackFrame) -> Value:
        found = frame.lookup(node.value)
        if found is not None:
            return found
        if node.value in ("True", "False"):
            return Number(float(node.value == "True"))
        return self.definition(node) or self._dtype(node) or UNKNOWN

    def _dtype(self, node: cst.BaseExpression) -> Value | None:
        meanings = self.names.resolve(node)
        if len(meanings) == 1:
            (meaning,) = meanings
            if meaning in _DTYPES:
                return DType(_DTYPES[meaning])
        return None

    def _attribute(self, node: cst.Attribute, frame: StackFrame) -> Value:
        named = self._dtype(node)
        if named is not None:
            return named
        return self.part(self.evaluate(node.value, frame), node.attr.value, frame)

    def part(self, base: Value, name: str, frame: StackFrame) -> Value:
        """An attribute of a value.

        Args:
            base: the value.
            name: the attribute.
            frame: where evaluation stands.
        """
        if isinstance(base, Instance):
            return self.attribute_of(base, name, frame)
        if isinstance(base, Tensor):
            if name in ("shape", "ndim"):
                return SIZE
            if name == "dtype":
                return DType(base.dtype)
            if name in ("T", "mT", "H", "mH", "real"):
                return base
            if name == "data":
                return replace(base, detached=True, through=frozenset())
            if name == "logits" and base.half and not base.sure:
                return base
        if isinstance(base, Finfo):
            return limit(base, name)
        if isinstance(base, Record):
            return containers.held(base, name)
        if isinstance(base, Choice):
            return joined([self.part(option, name, frame) for option in base.options])
        if isinstance(base, Layer) and name == "weight":
            return Tensor(precision.FLOAT32)
        return UNKNOWN

    def _items(self, elements: Sequence[cst.BaseElement], frame: StackFrame) -> Value:
        if any(isinstance(element, cst.StarredElement) for element in elements):
            return unknown(*(self.evaluate(element.value, frame) for element in elements))
        return Items(tuple(self.evaluate(element.value, frame) for element in elements))

    def _record(self, node: cst.Dict | cst.DictComp, frame: StackFrame) -> Value:
        if isinstance(node, cst.DictComp):
            self.bind_loop(node.for_in, frame)
            self.evaluate(node.key, frame)
            return Record(rest=self.evaluate(node.value, frame))
        parts: list[tuple[str | None, Value]] = []
        for element in node.elements:
            key = element.key if isinstance(element, cst.DictElement) else None
            if key is not None:
                self.evaluate(key, frame)
            parts.append((containers.text_key(key), self.evaluate(element.value, frame)))
        return containers.filled(parts)

    def _subscript(self, node: cst.Subscript, frame: StackFrame) -> Value:
        base = self.evaluate(node.value, frame)
        for element in node.slice:
            self._parts(element, frame)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(base, Number):
            return SIZE
        key = containers.text_key(index.value) if isinstance(index, cst.Index) else None
        if isinstance(base, Record):
            return containers.held(base, key)
        if isinstance(base, Instance) and key in base.attributes:
            return base.attributes[key]
        if isinstance(base, Items):
            position = self.evaluate(index.value, frame) if isinstance(index, cst.Index) else None
            return item(base, position)
        return base if isinstance(base, Tensor) else UNKNOWN

    def bind_loop(self, loop: cst.CompFor, frame: StackFrame) -> None:
        """Bind the target of a comprehension to what it runs over."""
        self.assign(loop.target, self.element(loop.iter, frame), frame)
        for test in loop.ifs:
            self.evaluate(test.test, frame)
        if loop.inner_for_in is not None:
            self.bind_loop(loop.inner_for_in, frame)

    def element(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        """What iterating over an expression gives.

        Args:
            node: the expression that is iterated over.
            frame: where evaluation stands.
        """
        if (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Name)
            and node.func.value in ("enumerate", "zip", "tqdm")
        ):
            parts = [self.element(arg.value, frame) for arg in node.args if arg.keyword is None]
            if node.func.value == "zip":
                return Items(tuple(parts))
            return (Items((Number(), parts[0])) if node.func.value == "enumerate" else parts[0]) if parts else UNKNOWN
        value = self.evaluate(node, frame)
        if isinstance(value, Items):
            return joined(value.items)
        return value if isinstance(value, Tensor) else UNKNOWN

    def assign(self, target: cst.BaseExpression, value: Value, frame: StackFrame) -> None:
        """Let a target hold a value.

        Args:
            target: a name, an attribute, an element, or several of these.
            value: what is assigned.
            frame: where evaluation stands; its variables change.
        """
        if isinstance(target, cst.Name):
            frame.variables[target.value] = value
        elif isinstance(target, (cst.Tuple, cst.List)):
            plain = not any(isinstance(element, cst.StarredElement) for element in target.elements)
            known = isinstance(value, Items) and plain and len(value.items) == len(target.elements)
            for position, element in enumerate(target.elements):
                if known and isinstance(value, Items):
                    self.assign(element.value, value.items[position], frame)
                else:
                    kept = isinstance(value, (Tensor, Number))
                    self.assign(element.value, value if kept else unknown(value), frame)
        elif isinstance(target, cst.Attribute):
            owner = self.evaluate(target.value, frame)
            if isinstance(owner, Instance):
                before = owner.attributes.get(target.attr.value)
                owner.attributes[target.attr.value] = value if before is None else join_values(before, value)

    # -- operators -------------------------------------------------------------------------------------------------

    def _unary(self, node: cst.UnaryOperation, frame: StackFrame) -> Value:
        value = self.evaluate(node.expression, frame)
        if isinstance(value, Number):
            negative = isinstance(node.operator, cst.Minus) and value.value is not None
            return replace(value, value=-value.value if negative and value.value is not None else None)
        if isinstance(value, Tensor) and isinstance(node.operator, cst.BitInvert):
            return replace(value, made=node)
        if isinstance(value, Tensor) and isinstance(node.operator, cst.Minus):
            return value.derived(node, low=-value.high, high=-value.low, core=value.core)
        return unknown(value)

    def _is_setting(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a number that the user has chosen, as it stands or by the only name that it was given."""
        if isinstance(node, cst.Name):
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
        if one == UNKNOWN and self._is_setting(left):
            one = Number()
        if other == UNKNOWN and self._is_setting(right):
            other = Number()
        return self.combine(op, node, one, other, frame, left, right, in_place)
