"""The dtype flow through names, and through what values consist of: attributes, elements, and the targets of assignments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import libcst as cst

from amplint.dtypes import containers
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import join_values, read, unknown
from amplint.dtypes.literals import SIZE, item, joined, limit
from amplint.dtypes.operators import Operators
from amplint.dtypes.values import (
    UNKNOWN,
    Choice,
    Closure,
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
from amplint.syntax.nodes import children, is_expression, is_sequence

_DTYPES = {
    **precision.DTYPES, "torch.bool": precision.BOOL,
    **{f"torch.{name}": precision.INTEGER for name in "int int8 int16 int32 int64 long short uint8".split()},
}  # fmt: skip


class ValueParts(Operators, ABC):
    """Takes values apart, and puts them together; how an expression is evaluated is left to the floor above."""

    kept: dict[str, Value]
    """The layers that attributes hold of objects of which nothing else is known: `args.criterion`."""

    @abstractmethod
    def evaluate(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        """What is known about the value of an expression.

        Args:
            node: any expression.
            frame: where evaluation stands.

        Raises:
            OutOfBudget: too much was evaluated.
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
        return base if isinstance(base, Tensor) or self._stands_for_many(base, frame) else UNKNOWN

    def bind_loop(self, loop: cst.CompFor, frame: StackFrame) -> None:
        """Bind the target of a comprehension to what it runs over.

        Args:
            loop: the `for` of the comprehension.
            frame: where evaluation stands; its variables change.
        """
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
            type(node) is cst.Call
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
        return value if isinstance(value, Tensor) or self._stands_for_many(value, frame) else UNKNOWN

    def _stands_for_many(self, value: Value, frame: StackFrame) -> bool:
        """Whether a value that is iterated over is one of the modules or functions that a comprehension has made."""
        if isinstance(value, Choice):
            return all(self._stands_for_many(option, frame) for option in value.options)
        if isinstance(value, Instance):
            return isinstance(self.attribute_of(value, "forward", frame), Closure)
        return isinstance(value, (Layer, Closure))

    def assign(self, target: cst.BaseExpression, value: Value, frame: StackFrame) -> None:
        """Let a target hold a value.

        Args:
            target: a name, an attribute, an element, or several of these.
            value: what is assigned.
            frame: where evaluation stands; its variables change.
        """
        if type(target) is cst.Name:
            frame.variables[target.value] = value
        elif is_sequence(target):
            plain = not any(type(element) is cst.StarredElement for element in target.elements)
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
            elif isinstance(owner, Tensor) and isinstance(value, (Layer, Choice)) and (path := dotted(target)):
                self.kept[path] = join_values(self.kept.get(path, value), value)
