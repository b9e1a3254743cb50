"""Losses that are scaled by hand: multiplied by a constant before the backward pass, whose gradients are divided by it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.model.literals import number
from amplint.model.records import frozen
from amplint.roles.gradients import is_gradient
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import within
from amplint.syntax.words import words

_LEAST = 64.0
"""Smaller factors are weights of losses."""
_DIVIDES = frozenset({"div_", "_foreach_div_"})


@frozen
class HandScaled:
    """One such loss: the multiplication, its factor, the loss in it, its backward pass, and the statements that divide."""

    multiplication: cst.CSTNode
    factor: cst.BaseExpression
    loss: cst.BaseExpression
    backward: cst.Call
    undone: tuple[cst.CSTNode, ...]


class HandScaling:
    """The losses of one file that are scaled by hand, in float16."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._flow = file.tree, file.names, file.flow
        self._contexts = file.contexts

    @cached_property
    def found(self) -> tuple[HandScaled, ...]:
        """All of them, in source order."""
        scaled = [found for call, _ in self._flow.methods("backward") if (found := self._scaled(call)) is not None]
        return tuple(scaled) if scaled and self._is_half and not self._tests_overflow else ()

    @cached_property
    def _is_half(self) -> bool:
        """Whether something in the file runs in float16."""
        regions = (self._contexts.of(call) for call in self._tree.find(cst.Call))
        if any(region is not None and region.lowers and region.dtype == "float16" for region in regions):
            return True
        return any(not call.args for call, _ in self._flow.methods("half"))

    @cached_property
    def _tests_overflow(self) -> bool:
        """Whether the author looks for overflows, and so has written a scaler."""
        return any(vocabulary.FINITE.search(word) for call in self._tree.find(cst.Call) for word in words(call.func))

    def _scaled(self, backward: cst.Call) -> HandScaled | None:
        assert isinstance(backward.func, cst.Attribute)
        loss = backward.func.value
        home = self._tree.function(backward)
        for multiplication, left, right in self._products(loss, backward):
            for factor, rest in ((left, right), (right, left)):
                undone = tuple(self._undone(factor, home)) if self._is_scale(factor) else ()
                if undone:
                    return HandScaled(multiplication, factor, rest, backward, undone)
        return None

    def _products(
        self, loss: cst.BaseExpression, backward: cst.Call
    ) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression, cst.BaseExpression]]:
        """The products that a loss may be, with their factors."""
        if isinstance(loss, cst.BinaryOperation):
            if isinstance(loss.operator, cst.Multiply):
                yield loss, loss.left, loss.right
        elif isinstance(loss, cst.Name):
            for value in self._flow.values(loss):
                if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply):
                    yield value, value.left, value.right
            for change in self._flow.changes(loss.value, backward):
                if isinstance(change.operator, cst.MultiplyAssign):
                    yield change, loss, change.value

    def _is_scale(self, factor: cst.BaseExpression) -> bool:
        """Whether a factor is a large number, or is called a scale and is no scaler's."""
        if "get_scale" in words(factor):
            return False
        value = number(self._tree.text(factor))
        if value is not None:
            return value >= _LEAST
        if not path_of(factor):
            return False
        known = [number(self._tree.text(each)) for each in self._values(factor)]
        if known and all(each is not None for each in known):
            return all(each is not None and each >= _LEAST for each in known)
        return "scale" in path_of(factor) and not any("get_scale" in words(each) for each in self._values(factor))

    def _values(self, factor: cst.BaseExpression) -> list[cst.BaseExpression]:
        defaults = []
        if isinstance(factor, cst.Name):
            params = [each.node for each in self._names.bindings(factor.value, factor)]
            defaults = [each.default for each in params if isinstance(each, cst.Param) and each.default is not None]
        return [*self._flow.values(factor), *defaults]

    def _undone(self, factor: cst.BaseExpression, home: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
        """The statements that divide gradients by the factor: in the same function, or in another method of the object."""
        text = self._tree.text(factor)
        everywhere = path_of(factor).startswith("self.")
        for node in (*self._tree.find(cst.AugAssign), *self._tree.find(cst.Assign), *self._tree.find(cst.Expr)):
            if not everywhere and self._tree.function(node) is not home:
                continue
            gradients = any(map(is_gradient, within(node)))
            if gradients and self._divides(node, text):
                yield node

    def _divides(self, statement: cst.CSTNode, text: str) -> bool:
        if isinstance(statement, cst.AugAssign):
            given = self._tree.text(statement.value)
            if isinstance(statement.operator, cst.DivideAssign):
                return given == text
        for node in within(statement):
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
                if self._tree.text(node.right) == text:
                    return True
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.args:
                if node.func.attr.value in _DIVIDES and self._tree.text(node.args[-1].value) == text:
                    return True
        return False
