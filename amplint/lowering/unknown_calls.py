"""Calls of which nothing is known: whether they get hold of a scaler or an optimizer, and so may do anything with it."""

from __future__ import annotations

import re

import libcst as cst

from amplint.lowering.bound_methods import holds_method, may_run_method
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.gradients import SCALE_FREE
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.model import vocabulary
from amplint.syntax.access_paths import path_of

_COMPUTES = re.compile(
    r"((training|validation|test|predict)_step|forward|(compute_|get_)?loss|(train|val|test|eval)_dataloader)$"
)
"""Methods that only compute, whatever the object that drives the loop otherwise does with scalers and optimizers."""
_TOUCHES_NOTHING = re.compile(
    r"^_?(get|set|is|has|load|state|add_param|register|append|extend|pop|items|keys|values|copy|train|eval|share|to$)"
)


class UnknownCalls:
    """Reads calls that are no event, and run no function in sight.

    Args:
        builder: what the events are written to.
        read: reads an expression.
    """

    def __init__(self, builder: FunctionBuilder, read: Read) -> None:
        self._scope, self._roles, self._escape = builder.scope, builder.scope.roles, builder.escape
        self._read = read

    def read(self, call: cst.Call) -> Provenance:
        """Read the arguments of a call; where it may do anything with a scaler or an optimizer, say so."""
        base = call.func.value if type(call.func) is cst.Attribute else None
        value = arguments(self._read, call)
        if base is not None and not path_of(base):
            value |= self._read(base)
        name = path_of(call.func).rpartition(".")[2]
        harmless = name and vocabulary.HARMLESS.search(name) and not self._steps_through_scaler(name, call)
        harmless = harmless or isinstance(base, cst.BaseString)
        if (not harmless and self._hands_over(call, base)) or may_run_method(call, self._scope):
            self._escape(call)
            return Provenance(("?",), value.as_argument().args, True)
        return Provenance(computes=True) if name in SCALE_FREE else value.as_argument()

    def _steps_through_scaler(self, name: str, call: cst.Call) -> bool:
        """Whether a call that says it steps is given a scaler: it steps the optimizer, whatever else it says."""
        return "step" in name.split("_") and any(self._roles.of(arg.value).role == "scaler" for arg in call.args)

    def _hands_over(self, call: cst.Call, base: cst.BaseExpression | None) -> bool:
        """Whether an unknown call gets hold of a scaler or an optimizer."""
        made = self._roles.made_by(call)
        if made is not None and made.role != "framework":
            return False
        if base is not None and self._reaches_by_receiver(base, call):
            return True
        return any(self._gives(arg.value) for arg in call.args)

    def _gives(self, node: cst.BaseExpression) -> bool:
        if path_of(node):
            if holds_method(node, self._scope):
                return True
            return path_of(node) == "self" or self._roles.of(node).role in ("scaler", "optimizer", "framework")
        if isinstance(node, (cst.List, cst.Tuple, cst.Dict)):
            return any(self._gives(item.value) for item in node.elements)
        return False

    def _makers(self, base: cst.BaseExpression) -> list[cst.Call]:
        """The calls that may have made an object."""
        if not path_of(base):
            return []
        given = (value for each in self._roles.flow.given(base) for value in (each, *self._roles.values(each)))
        return [value for value in (*self._roles.values(base), *given) if isinstance(value, cst.Call)]

    def _is_statement(self, call: cst.Call) -> bool:
        """Whether nothing is done with what a call gives back: then it is called for what it does."""
        return isinstance(self._scope.program.tree.parent(call), cst.Expr)

    def _reaches_by_receiver(self, base: cst.BaseExpression, call: cst.Call) -> bool:
        """Whether an unknown method may reach a scaler or an optimizer through its receiver."""
        if path_of(base) == "self" or (type(base) is cst.Call and path_of(base.func) == "super"):
            owner = self._scope.program.classes.owner(self._scope.node)
            assert isinstance(call.func, cst.Attribute)
            computes = vocabulary.MODEL_OR_LOSS.match(call.func.attr.value) is not None and not self._is_statement(call)
            if owner is None or owner.closed or computes:
                return False
            return not owner.values(call.func.attr.value)
        role = self._roles.of(base).role
        if role in ("optimizer", "scaler") and isinstance(call.func, cst.Attribute):
            return _TOUCHES_NOTHING.search(call.func.attr.value) is None  # `sam.first_step(zero_grad=True)`
        if any(self._roles.of(arg.value).role == "scaler" for made in self._makers(base) for arg in made.args):
            return True
        computes = isinstance(call.func, cst.Attribute) and _COMPUTES.match(call.func.attr.value) is not None
        return role == "framework" and not computes
