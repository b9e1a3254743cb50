"""Objects around an optimizer that step it by a method of their own, as those do that set the rate before each step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.roles.object_classes import ObjectClasses
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.nodes import within


class WrappedOptimizers:
    """The objects of one file that hold an optimizer and step it.

    Args:
        objects: of which classes its objects are.
    """

    def __init__(self, objects: ObjectClasses) -> None:
        self._objects = objects

    def stepped_by(self, call: cst.Call, scaler: cst.BaseExpression) -> cst.BaseExpression | None:
        """The object whose method steps an optimizer that it holds through the scaler which a call gives it:
        `optimizer` of `optimizer.step_and_update_rate(scaler)`.

        Args:
            call: the call of the method.
            scaler: one of its arguments.
        """
        if not isinstance(call.func, cst.Attribute) or path_of(call.func.value) in ("", "self"):
            return None
        info = self._objects.class_of(call.func.value)
        method = info.method(call.func.attr.value) if info is not None else None
        if method is None:
            return None
        scalers = {each.name.value for each in params_of(method) if given_by(call, method, each.name.value) is scaler}
        steps = (each for each in _steps(method) if path_of(each.func).rpartition(".")[0] in scalers)
        return call.func.value if any(_own(arg.value) for each in steps for arg in each.args) else None

    def holds(self, wrapper: cst.BaseExpression, optimizer: cst.BaseExpression) -> bool:
        """Whether an expression names the optimizer that an object holds and steps: `noam.optimizer`.

        Args:
            wrapper: what names the object.
            optimizer: an expression.
        """
        if not isinstance(optimizer, cst.Attribute) or path_of(optimizer.value) != path_of(wrapper):
            return False
        info = self._objects.class_of(wrapper)
        return info is not None and optimizer.attr.value in set(_stepped(info))


def _stepped(info: ClassInfo) -> Iterator[str]:
    """The attributes that the methods of a class step: by their own method, or through a scaler."""
    for method in (method for each in info.lineage for method in each.methods.values()):
        for call in _steps(method):
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else call.func
            yield from (_own(each) for each in (receiver, *(arg.value for arg in call.args)))


def _steps(method: cst.FunctionDef) -> Iterator[cst.Call]:
    return (node for node in within(method.body) if isinstance(node, cst.Call) and called_name(node) == "step")


def _own(node: cst.BaseExpression) -> str:
    """The name of the attribute of `self` that an expression names, or takes an element of; empty for any other."""
    named = node.value if isinstance(node, cst.Subscript) else node
    return named.attr.value if isinstance(named, cst.Attribute) and path_of(named.value) == "self" else ""
