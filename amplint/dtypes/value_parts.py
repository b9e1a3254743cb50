"""The dtype flow through names, and through what values consist of: attributes and elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import libcst as cst

from amplint.dtypes import containers
from amplint.dtypes.assigned_targets import AssignedTargets
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import read, unknown
from amplint.dtypes.literals import SIZE, item, joined, limit
from amplint.dtypes.python_numbers import library_number
from amplint.dtypes.values import (
    UNKNOWN,
    Choice,
    Class,
    DType,
    Finfo,
    FromLibrary,
    Instance,
    Items,
    Layer,
    Number,
    Record,
    Tensor,
    Value,
)
from amplint.model.records import changed
from amplint.model.torch import layers, precision
from amplint.syntax.bindings import dotted
from amplint.syntax.nodes import children, is_expression

_DTYPES = {
    **precision.DTYPES, "torch.bool": precision.BOOL,
    **{f"torch.{name}": precision.INTEGER for name in "int int8 int16 int32 int64 long short uint8".split()},
}  # fmt: skip


class ValueParts(AssignedTargets, ABC):
    """Takes values apart, and puts them together."""

    @abstractmethod
    def definition(self, node: cst.Name) -> Value | None:
        """The function or class of this file that a name stands for."""

    @abstractmethod
    def class_constant(self, base: Class, name: str) -> cst.BaseExpression | None:
        """The number, or the dtype, that the body of a class gives a name, if nothing else of the class gives it another.

        Args:
            base: the class.
            name: the name.
        """

    def parts_of(self, node: cst.CSTNode, frame: StackFrame) -> list[Value]:
        """The values of the expressions in a node.

        Args:
            node: any node.
            frame: where evaluation stands.
        """
        values: list[Value] = []
        for child in children(node):
            if is_expression(child):
                values.append(self.evaluate(child, frame))
            else:
                values.extend(self.parts_of(child, frame))
        return values

    def named(self, node: cst.Name, frame: StackFrame) -> Value:
        """What a name holds.

        Args:
            node: the name.
            frame: where evaluation stands.
        """
        found = frame.lookup(node.value)
        if found is not None:
            return read(found)
        if node.value in ("True", "False"):
            return Number(float(node.value == "True"))
        return self.definition(node) or self._named_by_library(node) or UNKNOWN

    def _named_by_library(self, node: cst.BaseExpression) -> Value | None:
        """The dtype, the layer or the function of a library that a name stands for."""
        meanings = self.names.resolve(node)
        if len(meanings) == 1:
            (meaning,) = meanings
            if meaning in _DTYPES:
                return DType(_DTYPES[meaning])
            if layers.is_called(meaning):
                return FromLibrary(meaning)
            return library_number(meaning)
        return None

    def attribute(self, node: cst.Attribute, frame: StackFrame) -> Value:
        """What `a.b` holds.

        Args:
            node: the expression.
            frame: where evaluation stands.
        """
        named = self._named_by_library(node)
        if named is not None:
            return named
        base = self.evaluate(node.value, frame)
        kept = self.kept.get(dotted(node)) if isinstance(base, Tensor) else None
        return kept if kept is not None else self.part(base, node.attr.value, frame)

    def part(self, base: Value, name: str, frame: StackFrame) -> Value:
        """An attribute of a value.

        Args:
            base: the value.
            name: the attribute.
            frame: where evaluation stands.
        """
        if isinstance(base, Instance):
            return self.attribute_of(base, name, frame)
        if isinstance(base, Class):
            constant = self.class_constant(base, name)
            return self.evaluate(constant, frame) if constant is not None else UNKNOWN
        if isinstance(base, Tensor):
            if name in ("shape", "ndim"):
                return SIZE
            if name == "dtype":
                return DType(base.dtype)
            if name in ("T", "mT", "H", "mH", "real"):
                return base
            if name == "data":
                return changed(base, detached=True, through=frozenset())
            if name == "logits" and base.half and not base.sure:
                return base
        if isinstance(base, Finfo):
            return limit(base, name)
        if isinstance(base, Record):
            return containers.held(base, name)
        if isinstance(base, Choice):
            return joined([self.part(option, name, frame) for option in base.used])
        if isinstance(base, Layer) and name == "weight":
            return Tensor(precision.FLOAT32)
        return UNKNOWN

    def display(self, elements: Sequence[cst.BaseElement], frame: StackFrame) -> Value:
        """A tuple or a list that is written out.

        Args:
            elements: what stands in it.
            frame: where evaluation stands.
        """
        if any(type(element) is cst.StarredElement for element in elements):
            return unknown(*(self.evaluate(element.value, frame) for element in elements))
        return Items(tuple(self.evaluate(element.value, frame) for element in elements))

    def dictionary(self, node: cst.Dict | cst.DictComp, frame: StackFrame) -> Value:
        """A dictionary that is written out.

        Args:
            node: the expression.
            frame: where evaluation stands.
        """
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

    def subscript(self, node: cst.Subscript, frame: StackFrame) -> Value:
        """What `a[b]` holds.

        Args:
            node: the expression.
            frame: where evaluation stands.
        """
        base = self.evaluate(node.value, frame)
        for element in node.slice:
            self.parts_of(element, frame)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(base, Number):
            return SIZE
        key = containers.text_key(index.value) if isinstance(index, cst.Index) else None
        if isinstance(base, Record):
            return containers.held(base, key)
        if isinstance(base, Instance) and key in base.attributes:
            return read(base.attributes[key])
        if isinstance(base, Items):
            position = self.evaluate(index.value, frame) if isinstance(index, cst.Index) else None
            return item(base, position)
        return base if isinstance(base, Tensor) or self.stands_for_many(base, frame) else UNKNOWN
