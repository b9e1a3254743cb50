"""Properties, and methods without parameters, that do nothing but give back an attribute of their object."""

from __future__ import annotations

import libcst as cst

from amplint.model.records import frozen
from amplint.roles.object_classes import ObjectClasses
from amplint.syntax.access_paths import path_of
from amplint.syntax.bindings import targets
from amplint.syntax.classes import Classes
from amplint.syntax.names import dotted
from amplint.syntax.nodes import within

_PROPERTIES = frozenset({"property", "cached_property", "functools.cached_property"})
_MAX_GETTERS = 4
"""So many getters give back what another one does; of one more nothing is known."""


@frozen
class GivenBack:
    """The attribute behind a getter: its path from where the getter is named, and the expression in the getter."""

    path: str
    attribute: cst.BaseExpression


class Getters:
    """Finds the attributes behind the getters that a file names.

    Args:
        classes: the classes in sight.
        objects: the classes of the objects on which methods are called.
    """

    def __init__(self, classes: Classes, objects: ObjectClasses) -> None:
        self._classes, self._objects = classes, objects

    def behind(self, node: cst.BaseExpression, getters: int = _MAX_GETTERS) -> GivenBack | None:
        """The attribute that an expression names by a getter: `trainer._optimizer` for `trainer.optimizer`, if that is a
        property, and for `trainer.get_optimizer()`; None for any other expression.

        Args:
            node: the expression.
            getters: how many getters may still lead to one another.
        """
        is_call = type(node) is cst.Call
        named = node.func if type(node) is cst.Call else node
        if type(named) is not cst.Attribute or (type(node) is cst.Call and node.args) or not getters:
            return None
        method = self._method(named)
        attribute = _given_back(method) if method is not None and _is_property(method) != is_call else None
        if attribute is None:
            return None
        deeper = self.behind(attribute, getters - 1)
        path = deeper.path if deeper is not None else path_of(attribute)
        owner = path_of(named.value)
        return GivenBack(owner + path.removeprefix("self"), deeper.attribute if deeper is not None else attribute)

    def _method(self, named: cst.Attribute) -> cst.FunctionDef | None:
        """The method of an object that is at hand, by name."""
        owner, name = path_of(named.value), named.attr.value
        if owner == "self":
            info = self._classes.owner(named)
            return info.method(name) if info is not None else None
        return self._objects.method_of(named.value, (name,), abroad=True) if owner else None


def _is_property(method: cst.FunctionDef) -> bool:
    return any(dotted(each.decorator) in _PROPERTIES for each in method.decorators)


def _given_back(method: cst.FunctionDef) -> cst.BaseExpression | None:
    """The attribute of `self` that a method gives back, if it does nothing else but to make it when it is asked for first."""
    returned = [each.value for each in within(method.body) if isinstance(each, cst.Return)]
    attribute = returned[-1] if returned else None
    path = path_of(attribute) if attribute is not None else ""
    lines = method.body.body if isinstance(method.body, cst.IndentedBlock) else ()
    ends = bool(lines) and isinstance(lines[-1], cst.SimpleStatementLine) and isinstance(lines[-1].body[-1], cst.Return)
    if attribute is None or not path.startswith("self.") or not ends:
        return None
    statements = [
        each for each in within(method.body) if isinstance(each, cst.BaseSmallStatement | cst.BaseCompoundStatement)
    ]
    return attribute if all(_only_makes(each, path) for each in statements) else None


def _only_makes(statement: cst.CSTNode, path: str) -> bool:
    """Whether a statement does nothing but make, or give back, the object of a path."""
    match statement:
        case cst.Return(value=cst.BaseExpression() as value):
            return path_of(value) == path
        case cst.Assign():
            return [*map(path_of, targets(statement))] == [path]
        case cst.Expr(value=cst.SimpleString()) | cst.If():
            return True
    return False
