"""The dtype flow into names: the targets of assignments, and what loops take out of what they run over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import libcst as cst

from amplint.dtypes import containers
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import join_values, unknown
from amplint.dtypes.literals import joined
from amplint.dtypes.operators import Operators
from amplint.dtypes.values import UNKNOWN, Choice, Closure, Instance, Items, Layer, Number, Record, Tensor, Value
from amplint.model.records import changed
from amplint.model.torch import precision
from amplint.syntax.access_paths import literal_key
from amplint.syntax.bindings import dotted
from amplint.syntax.nodes import is_sequence

_WITHOUT_GRADIENT = frozenset({precision.UNKNOWN, precision.INTEGER, precision.BOOL})
"""The dtypes of indices and masks, and of what may be labels."""


class AssignedTargets(Operators, ABC):
    """Lets names, attributes and elements hold values; how an expression is evaluated is left to the floors above."""

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
        return value if isinstance(value, Tensor) or self.stands_for_many(value, frame) else UNKNOWN

    def stands_for_many(self, value: Value, frame: StackFrame) -> bool:
        """Whether a value that is iterated over is one of the modules or functions that a comprehension has made.

        Args:
            value: the value.
            frame: where evaluation stands.
        """
        if isinstance(value, Choice):
            return all(self.stands_for_many(option, frame) for option in value.options)
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
        elif isinstance(target, cst.Subscript):
            self.flow_into(target.value, [value], frame)
        elif isinstance(target, cst.Attribute):
            owner = self.evaluate(target.value, frame)
            if isinstance(owner, Instance):
                before = owner.attributes.get(target.attr.value)
                owner.attributes[target.attr.value] = value if before is None else join_values(before, value)
            elif isinstance(owner, Tensor) and isinstance(value, (Layer, Choice)) and (path := dotted(target)):
                self.kept[path] = join_values(self.kept.get(path, value), value)

    def replace(self, target: cst.BaseExpression, value: Value, frame: StackFrame) -> None:
        """Let what holds a list or a dictionary hold what that has become; also where it is an element of a dictionary.

        Args:
            target: what names the list or the dictionary.
            value: what it has become.
            frame: where evaluation stands; its variables change.
        """
        holder = self.evaluate(target.value, frame) if isinstance(target, cst.Subscript) else None
        if isinstance(holder, Record) and isinstance(target, cst.Subscript):
            self.assign(target.value, containers.stored(holder, literal_key(target) or None, value), frame)
        else:
            self.assign(target, value, frame)

    def flow_into(self, target: cst.BaseExpression, values: Iterable[Value], frame: StackFrame) -> None:
        """Let the gradients of tensors flow into one without any, which they are written into.

        Args:
            target: what is written into; anything but a name is left as it is.
            values: what is written.
            frame: where evaluation stands; its variables change.
        """
        held = frame.variables.get(target.value) if isinstance(target, cst.Name) else None
        numbers = [each for each in values if isinstance(each, Tensor) and each.dtype not in _WITHOUT_GRADIENT]
        brings = not all(each.detached for each in numbers)
        if isinstance(target, cst.Name) and isinstance(held, Tensor) and held.detached and brings:
            frame.variables[target.value] = changed(held, detached=False)
