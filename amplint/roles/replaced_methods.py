"""Methods of one object that are replaced by themselves with a context around: `model.forward = autocast(...)(model.forward)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import libcst as cst

from amplint.syntax.classes import Classes
from amplint.syntax.tree import Tree

_MOVES = frozenset({"to", "cuda", "train", "eval"})


class ReplacedMethods:
    """Those of one file.

    Args:
        tree: the file.
        classes: its classes.
        values: gives what a name may hold; empty when something unknown is among it.
    """

    def __init__(
        self, tree: Tree, classes: Classes, values: Callable[[cst.BaseExpression], list[cst.BaseExpression]]
    ) -> None:
        self._tree, self._classes, self._values = tree, classes, values

    def around(self, function: cst.FunctionDef) -> list[cst.BaseExpression]:
        """The contexts that are put around a method, where its class makes one object only."""
        return self._contexts.get(function, []) if self._contexts else []

    @cached_property
    def _contexts(self) -> dict[cst.FunctionDef, list[cst.BaseExpression]]:
        found: dict[cst.FunctionDef, list[cst.BaseExpression]] = {}
        for each in self._tree.find(cst.Assign):
            match each:
                case cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name() as held, attr=name) as place)],
                    value=cst.Call(func=cst.Call() as context, args=[cst.Arg(value=cst.Attribute() as given)]),
                ) if given.deep_equals(place):
                    method = self._method(held, name.value)
                    if method is not None:
                        found.setdefault(method, []).insert(0, context)
        return found

    def _method(self, held: cst.Name, name: str) -> cst.FunctionDef | None:
        """The method of the one object that a name holds."""
        made = self._values(held)
        value = made[0] if len(made) == 1 else held
        while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in _MOVES:
            value = value.func.value
        info = self._classes.instance_of(value)
        if info is None or sum(self._classes.instance_of(call) is info for call in self._tree.find(cst.Call)) != 1:
            return None
        return info.methods.get(name)
