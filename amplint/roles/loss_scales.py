"""Which numbers may hold a loss scale: read with `get_scale()`, kept, handed on, inverted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.model.literals import number
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import PassedArguments
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.tree import Tree, within

_READS = re.compile(r"^_?get_(loss_)?scale(_async)?$")
_NAMED = re.compile(
    r"^(cur(rent)?_|old_|prev_|my_)?((loss|grad|gradient|amp|scaler)_?)?(inv_?)?(scale|scaling)(_(inv|factor|value|val))?$",
    re.IGNORECASE,
)
_MAX_STEPS = 5
"""From a name to its value and to the names in that, so many times."""


class LossScales:
    """Follows the loss scale through names, attributes, parameters and helpers in sight."""

    def __init__(self, tree: Tree, names: Names, classes: Classes, roles: Roles, arguments: PassedArguments) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self._roles = roles
        self._arguments = arguments
        self._known: dict[int, tuple[cst.CSTNode, bool]] = {}

    def in_play(self, at: cst.CSTNode) -> bool:
        """Whether the file, or that of `at`, asks for a scale at all: a cheap look before `may_hold`."""
        return self._asks or "get_scale" in self._tree.home(at).source.text

    @cached_property
    def _asks(self) -> bool:
        return "get_scale" in self._tree.source.text

    def may_hold(self, node: cst.BaseExpression) -> bool:
        """Whether an expression may depend on a loss scale, as far as what is in sight tells."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, self._holds(node, 0, set())
        return known[1]

    def _holds(self, node: cst.CSTNode, steps: int, seen: set[int]) -> bool:
        if steps > _MAX_STEPS or id(node) in seen:
            return False
        seen.add(id(node))
        return any(self._part_holds(each, steps, seen) for each in within(node))

    def _part_holds(self, node: cst.CSTNode, steps: int, seen: set[int]) -> bool:
        if isinstance(node, cst.Call):
            called = path_of(node.func).rpartition(".")[2]
            if _READS.match(called) or any(self._roles.of(arg.value).role == "scaler" for arg in node.args):
                return True
            function = self._arguments.called(node)
            return function is not None and any(self._holds(each, steps + 1, seen) for each in self._returned(function))
        if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) or self._is_spelling(node):
            return False
        return self._name_holds(node, steps, seen)

    def _name_holds(self, node: cst.Name | cst.Attribute | cst.Subscript, steps: int, seen: set[int]) -> bool:
        values = list(self._values(node))
        if any(self._holds(value, steps + 1, seen) for value in values):
            return True
        named = _NAMED.match(path_of(node).rpartition(".")[2].partition("[")[0]) is not None
        # Of a number that is called so, and that nobody in sight has written down, it cannot be told.
        return named and not (values and all(number(self._tree.text(value)) is not None for value in values))

    def _is_spelling(self, node: cst.CSTNode) -> bool:
        """Whether a node is the name of an attribute, of a keyword, or of what is called."""
        parent = self._tree.parent(node)
        if isinstance(parent, cst.Attribute):
            return parent.attr is node
        if isinstance(parent, cst.Arg):
            return parent.keyword is node
        return isinstance(parent, cst.Call) and parent.func is node

    def _values(self, node: cst.Name | cst.Attribute | cst.Subscript) -> Iterator[cst.BaseExpression]:
        """What may be assigned to a name or an attribute, what callers in sight give, and what a property returns."""
        yield from self._roles.values(node)
        yield from self._roles.given(node)
        if isinstance(node, cst.Name):
            for binding in self._names.bindings(node.value, node):
                change = self._tree.parent(binding.node) if binding.node is not None else None
                if isinstance(change, cst.AugAssign):
                    yield change.value
        elif isinstance(node, cst.Attribute):
            yield from self._assigned.get(node.attr.value, ())
            owner = self._classes.owner(node) if path_of(node.value) == "self" else None
            method = owner.method(node.attr.value) if owner is not None else None
            yield from self._returned(method) if method is not None else ()

    @cached_property
    def _assigned(self) -> dict[str, list[cst.BaseExpression]]:
        """What this file assigns to attributes, of whatever object, by their names."""
        found: dict[str, list[cst.BaseExpression]] = {}
        for assign in self._tree.find(cst.Assign):
            for target in assign.targets:
                if isinstance(target.target, cst.Attribute):
                    found.setdefault(target.target.attr.value, []).append(assign.value)
        for change in self._tree.find(cst.AugAssign):
            if isinstance(change.target, cst.Attribute):
                found.setdefault(change.target.attr.value, []).append(change.value)
        return found

    def _returned(self, function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
        for statement in self._tree.inside(function, cst.Return):
            if statement.value is not None:
                yield statement.value
