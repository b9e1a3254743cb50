"""Calls of which nothing is known: whether they get hold of a scaler or an optimizer, and so may do anything with it."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.bound_methods import holds_method, may_run_method
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.gradients import SCALE_FREE
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.model import vocabulary
from amplint.syntax.access_paths import path_of


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
        if base is not None and self._scope.escapes_by_receiver(base, call):
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
