"""Reading names and attributes: what they hold by now, what the dtype flow knows, and what comes from outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import libcst as cst

from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import Choice, Class, Closure, DType, Instance, Layer, Number, Tensor, Value
from amplint.model.torch import precision
from amplint.runtime.numeric.expression import Apply, Expression, Literal, Operand, Outside, Thing
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.operations import ATTRIBUTES, CONSTANTS
from amplint.syntax.names import dotted

_LITERALS: dict[str, object] = {"True": True, "False": False, "None": None}


@dataclass(eq=False)
class BodyScope:
    """A body that is read: what its names and attributes hold by now."""

    frame: StackFrame
    held: dict[str, Expression] = field(default_factory=dict)
    returned: Expression | None = None
    left: bool = False
    """Whether what follows is not reached: after a `return`, `raise`, `break` or `continue`."""


class Sources(ABC):
    """Reads what is read by name; the ground floor."""

    def __init__(self, facts: DtypeTrace) -> None:
        self.facts = facts
        self.tree = facts.file.tree
        self.scaled: dict[int, Expression] = {}
        """What a scaler scales, by its id."""
        self.names: set[str] = set()
        """The names and attributes that were read."""

    @abstractmethod
    def read(self, node: cst.BaseExpression, scope: BodyScope) -> Expression:
        """What an expression comes to; `Outside` where it needs something that is not on the closed list.

        Args:
            node: any expression.
            scope: what names hold by now.
        """

    def name(self, node: cst.Name, scope: BodyScope) -> Expression:
        self.names.add(node.value)
        if node.value not in scope.held:
            if node.value in _LITERALS:
                return Literal(_LITERALS[node.value])
            scope.held[node.value] = self.from_outside(node, scope)
        return scope.held[node.value]

    def attribute(self, node: cst.Attribute, scope: BodyScope) -> Expression:
        path, name = dotted(node), node.attr.value
        self.names.add(name)
        if path in scope.held:
            return scope.held[path]
        meanings = self.facts.names.resolve(node)
        if len(meanings) == 1 and (meaning := next(iter(meanings))) in CONSTANTS:
            return Literal(CONSTANTS[meaning])
        seen = self.facts.seen(node, scope.frame)
        settled = self.known(seen.value) if isinstance(seen.value, (DType, Number)) and name != "dtype" else None
        if settled is not None:
            return settled
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

    def _of_object(self, node: cst.Attribute, owner: Value, scope: BodyScope) -> Expression:
        name = node.attr.value
        value = owner.attributes.get(name) if isinstance(owner, Instance) else None
        found = self.known(value) if value is not None else None
        if found is None and isinstance(owner, Instance):
            values = self.facts.classes.of(owner.cls).values(name)
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
            return Literal(node.evaluated_value)
        return Literal(_LITERALS[node.value]) if isinstance(node, cst.Name) and node.value in _LITERALS else None

    @staticmethod
    def known(value: Value) -> Expression | None:
        """The expression of a value that the dtype flow knows entirely, or that is no tensor."""
        if isinstance(value, Number):
            return None if value.value is None else Literal(_whole(value.value))
        if isinstance(value, DType):
            return Literal(value) if value.name != precision.UNKNOWN else None
        if isinstance(value, (Closure, Class, Instance, Layer)):
            return Thing(value)
        if isinstance(value, Choice):  # any of them will do: the first that is known
            return next((found for option in value.options if (found := Sources.known(option)) is not None), None)
        return None

    def from_outside(
        self, node: cst.BaseExpression, scope: BodyScope, value: Value | None = None, dtype: str = ""
    ) -> Expression:
        """An expression that nothing but its dtype is known of, as an operand.

        Args:
            node: the expression, by which the operand is known.
            scope: what names hold by now.
            value: what the dtype flow knows of it, where that is known already.
            dtype: its dtype, where that is known better.
        """
        value = self.facts.seen(node, scope.frame).value if value is None else value
        found = self.known(value)
        if found is not None:
            return found
        tensor = value if isinstance(value, Tensor) else Tensor()
        lone = isinstance(value, Number) or tensor.zero_dim  # which widens no tensor with dimensions
        setting = lone or (isinstance(node, cst.Attribute) and tensor.dtype == precision.UNKNOWN)
        name = dtype or tensor.dtype
        args = node.args if isinstance(node, cst.Call) else ()
        given = [scope.held.get(arg.value.value) for arg in args if isinstance(arg.value, cst.Name)]
        made_of = tuple(each.text for each in given if isinstance(each, Operand))
        return Operand(self.words(node), name, tensor.low, tensor.high, tensor.detached, setting, made_of, tensor.sure)

    def words(self, node: cst.CSTNode) -> str:
        """The source of a node in one line."""
        return " ".join(self.tree.text(node).split())


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) and abs(value) < 1e6 else value
