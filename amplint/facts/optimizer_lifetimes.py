"""How long the optimizers live that scalers step: whether a loop makes them, or a function gets them from outside."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import path_of

Loop = cst.For | cst.While


class OptimizerLifetimes:
    """Tells where the optimizers of one file come from.

    Args:
        file: the file.
    """

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles = file.tree, file.names, file.roles

    def outlives(self, optimizer: cst.BaseExpression, loop: Loop) -> bool:
        """Whether an optimizer is surely not made inside a loop.

        Args:
            optimizer: what names it.
            loop: the loop.
        """
        return bool(path_of(optimizer)) and not any(self.runs_in(node, loop) for node in self._makers(optimizer))

    def _makers(self, expression: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        """The places at which the object that an expression names may get made, or its name bound."""
        root = expression
        while isinstance(root, (cst.Attribute, cst.Subscript)) and path_of(root.value) != "self":
            root = root.value
        if isinstance(root, cst.Name):
            yield from (each.node for each in self._names.bindings(root.value, root) if each.node is not None)
        yield from self._roles.values(expression)

    def runs_in(self, node: cst.CSTNode, loop: Loop) -> bool:
        """Whether a place is in a loop, or in a method of the same object that the loop calls.

        Args:
            node: the place.
            loop: the loop.
        """
        if loop in self._tree.ancestors(node):
            return True
        method, here = self._tree.enclosing(node, cst.FunctionDef), self._tree.enclosing(loop, cst.FunctionDef)
        if method is None or method is here:
            return False
        assert isinstance(method, cst.FunctionDef)
        called = (call for call in self._tree.find(cst.Call) if loop in self._tree.ancestors(call))
        return any(path_of(call.func) == f"self.{method.name.value}" for call in called)

    def comes_from_around(self, optimizer: cst.BaseExpression, home: cst.FunctionDef) -> bool:
        """Whether a function finds an optimizer in its object or its surroundings, and gets it from no caller.

        Args:
            optimizer: what names it there.
            home: the function.
        """
        root = path_of(optimizer).partition(".")[0].partition("[")[0]
        return root == "self" or bool(root) and root not in self._names.bindings_in(home)

    def comes_from_outside(self, optimizer: cst.BaseExpression, home: cst.FunctionDef) -> bool:
        """Whether a function gets an optimizer as an argument, or finds it in its object or its surroundings.

        Args:
            optimizer: what names it there.
            home: the function.
        """
        path = path_of(optimizer)
        local = self._names.bindings_in(home).get(path.partition(".")[0].partition("[")[0], [])
        if not path or any(not isinstance(each.node, cst.Param) for each in local):
            return False
        return not any(home in self._tree.ancestors(value) for value in self._roles.values(optimizer))
