"""Whose parameters an optimizer, a clip or a loop is given: the models that expressions of parameters name."""

from __future__ import annotations

import re

import libcst as cst

from amplint.syntax.access_paths import path_of
from amplint.syntax.classes import Classes
from amplint.syntax.nodes import children, is_reference
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.words import words

_MAX_VALUES = 3
"""From a name to its value and to the names in that, so many times."""


class ParameterOwners:
    """The owners of parameters in one file.

    Args:
        tree: the file.
        flow: where values come from.
        classes: its classes.
    """

    def __init__(self, tree: Tree, flow: ValueFlow, classes: Classes) -> None:
        self._tree = tree
        self._flow = flow
        self._classes = classes

    def of(self, *expressions: cst.BaseExpression) -> tuple[str, ...]:
        """The paths from which the parameters in expressions come: `model` of `model.parameters()`."""
        found: dict[str, None] = {}
        for expression in expressions:
            self._add(expression, found, 0, {})
        return tuple(path for path in found if path)

    def _add(self, node: cst.CSTNode, found: dict[str, None], depth: int, done: dict[int, int]) -> None:
        """Add the paths in a node to what was found; `done` are the nodes (by identity) that were read, at which depth."""
        if depth < done.get(id(node), depth + 1):
            self._read(node, found, depth, done)
            done[id(node)] = depth

    def _read(self, node: cst.CSTNode, found: dict[str, None], depth: int, done: dict[int, int]) -> None:
        if type(node) is cst.Call and type(node.func) is cst.Attribute and "param" in node.func.attr.value:
            found[path_of(node.func.value)] = None
            found.update((each, None) for each in self._kept_as(node.func.value))
            for arg in node.args:
                self._add(arg.value, found, depth, done)
            return
        path = path_of(node) if is_reference(node) else ""
        if path:
            found[path] = None
            found.update((each, None) for each in self._kept_as(node))
            if depth < _MAX_VALUES and isinstance(node, (cst.Name, cst.Attribute)):
                for value in self._flow.values(node):
                    self._add(value, found, depth + 1, done)
            return
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            self._read_comprehension(node, found, depth, done)
            return
        for child in children(node):
            called_here = type(node) is cst.Call and child is node.func and type(child) is cst.Name and node.args
            part = child.value if type(child) is cst.Arg else child
            if called_here or type(part) is cst.Lambda:
                continue  # two calls of `filter(lambda p: p.requires_grad, ...)` share no parameters
            if type(child) is not cst.Arg or child.keyword is None or child.keyword.value == "params":
                self._add(part, found, depth, done)

    def _kept_as(self, node: cst.CSTNode) -> list[str]:
        """The attributes of `self` that are what a name in a method stands for, and nothing else: `self.model = model`."""
        owner = self._classes.owner(node) if isinstance(node, cst.Name) else None
        if owner is None or not isinstance(node, cst.Name):
            return []
        kept = ((name, owner.values(name)) for name in owner.attributes)
        return [f"self.{name}" for name, values in kept if len(values) == 1 and self._is_same(values[0], node)]

    def _is_same(self, value: cst.BaseExpression, name: cst.Name) -> bool:
        """Whether a value is written as a name is, in the same function."""
        same = isinstance(value, cst.Name) and value.value == name.value
        return same and self._tree.function(value) is self._tree.function(name)

    def _read_comprehension(
        self, node: cst.ListComp | cst.GeneratorExp, found: dict[str, None], depth: int, done: dict[int, int]
    ) -> None:
        """Add the paths in a comprehension, without its own variables."""
        inside: dict[str, None] = {}
        own: set[str] = set()
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            self._add(clause.iter, inside, depth, done)
            own |= set(words(clause.target))
            clause = clause.inner_for_in
        self._add(node.elt, inside, depth, done)
        found.update((path, None) for path in inside if re.split(r"[.\[]", path)[0] not in own)
