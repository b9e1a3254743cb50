"""Classes around a scaler: they make one, and step with it the optimizers that they are given."""

from __future__ import annotations

import libcst as cst

from amplint.roles.roles import Roles
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import params_of
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree

_MAX_NAMES = 2
"""From an attribute to the parameter that it is assigned, and from there to what callers give, so many times."""


class ScalerWrappers:
    """The objects of one file that step through a scaler of their own (`NativeScaler`), told by what their classes do.

    Args:
        tree: the file.
        classes: the classes in sight.
        roles: what objects are.
    """

    def __init__(self, tree: Tree, classes: Classes, roles: Roles) -> None:
        self._tree, self._classes, self._roles = tree, classes, roles
        self._known: dict[cst.ClassDef, bool] = {}

    def may_name(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names or makes such an object, or one of several between which a branch chooses.

        Args:
            node: any expression.
        """
        made = self._made(node)
        others = [value for value, info in made if info is None or not self.is_one(info)]
        wrappers = [value for value, info in made if info is not None and self.is_one(info)]
        return bool(wrappers) and all(
            self._tree.exclude_each_other(wrapper, other) for wrapper in wrappers for other in others
        )

    def named_classes(self, node: cst.BaseExpression) -> set[ClassInfo | None]:
        """The classes of all objects that an expression may name or make, but for `None`; None for one that is unknown.

        Args:
            node: any expression.
        """
        return {info for _, info in self._made(node)}

    def _made(
        self, node: cst.BaseExpression, names: int = _MAX_NAMES
    ) -> list[tuple[cst.BaseExpression, ClassInfo | None]]:
        """The expressions that make what another one names, but for `None`, each with the class of what it makes."""
        flow = self._roles.flow
        values = (list(flow.values(node)) or list(flow.given(node))) if path_of(node) else [node]
        sides = [side for value in values for side in sides_of(value) if path_of(side) != "None"]
        found = []
        for side in sides:
            further = self._made(side, names - 1) if names and path_of(side) else []
            found += further or [(side, self._classes.instance_of(side))]
        return found

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
        made = [self._roles.made_by(side) for value in info.values(attribute) for side in sides_of(value)]
        return any(
            facts is not None and facts.role == "scaler" and facts.made and facts.enabled != "no" for facts in made
        )


def steps_its_own(info: ClassInfo) -> bool:
    """Whether the objects of a class step optimizers that they hold through a scaler that they are given: in
    `def step(self, scaler)`, `scaler.step(self.optimizer)`.

    Args:
        info: the class.
    """
    methods = [method for each in info.lineage for method in each.methods.values()]
    return any(_steps_own(node, method) for method in methods for node in within(method))


def scales_losses(info: ClassInfo) -> bool:
    """Whether the objects of a class scale losses with a scaler that they keep: `self.scaler.scale(loss).backward()`.

    Args:
        info: the class.
    """
    methods = [method for each in info.lineage for method in each.methods.values()]
    calls = (node for method in methods for node in within(method) if type(node) is cst.Call)
    return any(path_of(call.func).startswith("self.") and called_name(call) == "scale" for call in calls)


def _steps_own(node: cst.CSTNode, method: cst.FunctionDef) -> bool:
    """Whether a node of a method steps what its object holds through a parameter of it."""
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute or len(node.args) != 1:
        return False
    given = {each.name.value for each in params_of(method)} - {"self"}
    through = node.func.attr.value == "step" and path_of(node.func.value) in given
    return through and path_of(node.args[0].value).startswith("self.")


def _steps_through(node: cst.CSTNode, scalers: set[str], method: cst.FunctionDef) -> bool:
    """Whether a node of a method steps a parameter of it: `self.scaler.step(optimizer)`."""
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute or len(node.args) != 1:
        return False
    is_step = node.func.attr.value == "step" and path_of(node.func.value) in scalers
    return is_step and path_of(node.args[0].value) in {each.name.value for each in params_of(method)}


def sides_of(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What a value may be, as a conditional expression has it.

    Args:
        value: the expression.
    """
    return [*sides_of(value.body), *sides_of(value.orelse)] if type(value) is cst.IfExp else [value]
