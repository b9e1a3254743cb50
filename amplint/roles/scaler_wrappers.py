"""Classes around a scaler: they make one, and step with it the optimizers that they are given."""

from __future__ import annotations

import libcst as cst

from amplint.roles.roles import Roles
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import params_of
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.nodes import within


class ScalerWrappers:
    """The objects of one file that step through a scaler of their own (`NativeScaler`), told by what their classes do.

    Args:
        classes: the classes in sight.
        roles: what objects are.
    """

    def __init__(self, classes: Classes, roles: Roles) -> None:
        self._classes, self._roles = classes, roles
        self._known: dict[cst.ClassDef, bool] = {}

    def of(self, node: cst.BaseExpression) -> ClassInfo | None:
        """The class of such an object that an expression names or makes; None for anything else."""
        flow = self._roles.flow
        values = (list(flow.values(node)) or list(flow.given(node))) if path_of(node) else [node]
        found = {self._classes.instance_of(value) for value in values if path_of(value) != "None"}
        info = found.pop() if len(found) == 1 else None
        return info if info is not None and self.is_one(info) else None

    def around(self, node: cst.CSTNode) -> ClassInfo | None:
        """The class of such objects whose method a node stands in."""
        info = self._classes.owner(node)
        return info if info is not None and self.is_one(info) else None

    def is_one(self, info: ClassInfo) -> bool:
        """Whether the objects of a class step through a scaler of their own."""
        if info.node not in self._known:
            self._known[info.node] = self._steps(info)
        return self._known[info.node]

    def _steps(self, info: ClassInfo) -> bool:
        own = {f"self.{name}" for each in info.lineage for name in each.attributes if self.makes(info, name)}
        methods = [method for each in info.lineage for method in each.methods.values()] if own else []
        return any(_steps_through(node, own, method) for method in methods for node in within(method))

    def makes(self, info: ClassInfo, attribute: str) -> bool:
        """Whether the objects of a class make themselves a scaler that may be enabled, and keep it as an attribute.

        Args:
            info: the class.
            attribute: the name of the attribute.
        """
        made = [self._roles.made_by(value) for value in info.values(attribute)]
        return any(
            facts is not None and facts.role == "scaler" and facts.made and facts.enabled != "no" for facts in made
        )


def _steps_through(node: cst.CSTNode, scalers: set[str], method: cst.FunctionDef) -> bool:
    """Whether a node of a method steps a parameter of it: `self.scaler.step(optimizer)`."""
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute or len(node.args) != 1:
        return False
    is_step = node.func.attr.value == "step" and path_of(node.func.value) in scalers
    return is_step and path_of(node.args[0].value) in {each.name.value for each in params_of(method)}
