"""Which scalers stay in a file: nothing that the file does not show can get at them, or at their state."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.bindings import is_loaded, targets
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.value_uses import How, Use


class ConfinedScalers:
    """The scalers of one file that are local variables, and given to nothing but functions of the file."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._flow, self._callees = file.tree, file.roles, file.flow, file.callees

    def holds(self, scaler: cst.BaseExpression) -> bool:
        """Whether a scaler is confined; those of a file are told apart by nothing, so that one which is not speaks for all."""
        return self._all and isinstance(scaler, cst.Name) and self._tree.function(scaler) is not None

    @cached_property
    def _all(self) -> bool:
        found: list[cst.BaseExpression] = [*self._tree.find(cst.Name), *self._tree.find(cst.Attribute)]
        scalers = [node for node in found if self._is_read(node) and self._roles.of(node).role == "scaler"]
        return all(isinstance(node, cst.Name) and self._stays(self._flow.use(node), node) for node in scalers)

    def _is_read(self, node: cst.BaseExpression) -> bool:
        parent = self._tree.parent(node)
        spells = parent.attr if isinstance(parent, cst.Attribute) else getattr(parent, "keyword", None)
        return spells is not node and bool(path_of(node)) and is_loaded(self._tree, node)

    def _stays(self, use: Use, node: cst.BaseExpression) -> bool:
        """Whether a use of a scaler hands it to nobody."""
        match use.how, use.node:
            case How.METHOD, _:
                return use.name != "state_dict"
            case ((How.TESTED | How.COMPARED), _):
                return True
            case How.ASSIGNED, statement:
                return all(isinstance(each, cst.Name) for each in targets(statement))
            case How.ARGUMENT, cst.Call() as call:
                return self._is_known(call, node)
        return False

    def _is_known(self, call: cst.Call, scaler: cst.BaseExpression) -> bool:
        """Whether a call gives a scaler to a parameter of a function of this file."""
        callee = self._callees.of(call)
        if callee is None or self._tree.root(callee.node) is not self._tree.module:
            return False
        return any(given_by(call, callee.node, each.name.value) is scaler for each in params_of(callee.node))
