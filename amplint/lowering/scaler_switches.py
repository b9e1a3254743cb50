"""Flags that decide whether there is a scaler, or whether it scales: `GradScaler(enabled=use_scaler)`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.model import vocabulary
from amplint.roles.object_classes import ObjectClasses
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.nodes import is_reference
from amplint.syntax.tree import Tree


class ScalerSwitches:
    """Tells them from other flags.

    Args:
        tree: the file.
        roles: what its objects are.
        classes: its classes.
        objects: the classes of the objects that it names.
    """

    def __init__(self, tree: Tree, roles: Roles, classes: Classes, objects: ObjectClasses) -> None:
        self._tree, self._roles, self._classes, self._objects = tree, roles, classes, objects
        self._kept: dict[int, tuple[ClassInfo, frozenset[str]]] = {}

    def decide(self, node: cst.Name | cst.Attribute) -> bool:
        """Whether a name, or an attribute, is what a scaler is enabled by, or made for.

        Args:
            node: the expression; a name counts in the function that makes the scaler, an attribute in its class, or as one of an
                object of that class (`precision.enabled`).
        """
        home = self._tree.function(node) if type(node) is cst.Name else None
        if (home, path_of(node)) in self._of_file:
            return True
        if not isinstance(node, cst.Attribute):
            return False
        owner = self._owner(node)
        return owner is not None and node.attr.value in self._of_class(owner)

    @cached_property
    def _of_file(self) -> frozenset[tuple[cst.CSTNode | None, str]]:
        given = (flag for call in self._scalers(self._tree.module) for flag in self._enabling(call))
        return frozenset(
            (self._tree.function(each) if type(each) is cst.Name else None, path_of(each)) for each in given
        )

    def _scalers(self, node: cst.CSTNode) -> Iterator[cst.Call]:
        """The calls in a node that make scalers."""
        for call in self._tree.inside(node, cst.Call):
            asked = "caler" in called_name(call) or any(self._enabling(call))
            made = self._roles.made_by(call) if asked else None
            if made is not None and made.role == "scaler":
                yield call

    def _enabling(self, call: cst.Call) -> Iterator[cst.BaseExpression]:
        """The reference that a scaler is given as `enabled`."""
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == "enabled" and is_reference(arg.value):
                yield arg.value

    def _owner(self, node: cst.Attribute) -> ClassInfo | None:
        """The class of the object whose attribute is asked for, if it may be such a flag."""
        if path_of(node.value) == "self":
            return self._classes.owner(node)
        return self._objects.class_of(node.value) if vocabulary.FLAG.fullmatch(node.attr.value) else None

    def _of_class(self, info: ClassInfo) -> frozenset[str]:
        """The attributes of a class that decide on the scaler that it makes."""
        if id(info) not in self._kept:  # it is kept, so that no other one can get its identity
            flags = (flag for each in info.lineage for flag in self._flags(each.node))
            own = (path_of(flag).partition(".") for flag in flags)
            self._kept[id(info)] = info, frozenset(name for this, _, name in own if this == "self" and "." not in name)
        return self._kept[id(info)][1]

    def _flags(self, node: cst.ClassDef) -> Iterator[cst.BaseExpression]:
        for call in self._scalers(node):
            yield from self._enabling(call)
            inside: cst.CSTNode = call
            for above in self._tree.ancestors(call):
                if isinstance(above, cst.If | cst.IfExp) and above.body is inside and is_reference(above.test):
                    yield above.test
                inside = above
