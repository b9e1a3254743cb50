"""Where the state of a scaler is kept and loaded, by what is called so and by what is named so."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import says_save
from amplint.file import File
from amplint.model import vocabulary
from amplint.syntax.access_paths import literal_key, path_of
from amplint.syntax.tree import within


class ScalerStates:
    """The states of scalers that one file keeps, and those that it loads."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles = file.tree, file.roles

    @cached_property
    def keepers(self) -> set[cst.CSTNode | None]:
        """The functions (None: the module) that put the state of a scaler somewhere."""
        nodes = [*self._tree.find(cst.Call), *self._tree.find(cst.DictElement), *self._tree.find(cst.Subscript)]
        return {self._tree.function(node) for node in nodes if self._is_kept_by(node)}

    def kept_by(self, function: cst.FunctionDef) -> bool:
        """Whether a function, of this file or of another one, puts the state of a scaler somewhere."""
        return any(self._is_kept_by(node) for node in within(function))

    def _is_kept_by(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.DictElement):
            return _says_scaler(node.key) or self.names(node.value)
        if isinstance(node, cst.Subscript):
            above = self._tree.parent(node)
            return isinstance(above, cst.AssignTarget) and _says_scaler(node)
        if not isinstance(node, cst.Call):
            return False
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "state_dict":
            return self.names(node.func.value)
        is_dict = path_of(node.func) == "dict" or says_save(node)
        return is_dict and any(
            self.names(arg.value) or (arg.keyword is not None and vocabulary.SCALER_STATE.search(arg.keyword.value))
            for arg in node.args
        )

    def names(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names a scaler."""
        named = isinstance(node, (cst.Name, cst.Attribute, cst.Subscript))
        return named and (
            self._roles.of(node).role == "scaler" or vocabulary.SCALER_STATE.search(path_of(node)) is not None
        )

    def holds_state(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is the state of a scaler: `scaler.state_dict()`, or that if there is one."""
        if isinstance(node, cst.IfExp):
            return self.holds_state(node.body) or self.holds_state(node.orelse)
        called = node.func if isinstance(node, cst.Call) else None
        return isinstance(called, cst.Attribute) and called.attr.value == "state_dict" and self.names(called.value)

    @cached_property
    def _loads(self) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The calls of `load_state_dict`, with what they are called on."""
        return [(call, owner) for call, owner in self._roles.flow.methods("load_state_dict") if call.args]

    @property
    def loads_scaler(self) -> bool:
        """Whether the file loads the state of a scaler."""
        return any(self.names(owner) for _, owner in self._loads)

    @property
    def scaler_key(self) -> str:
        """The key from which the file loads the state of a scaler; empty when that cannot be told."""
        keys = {literal_key(call.args[0].value) for call, owner in self._loads if self.names(owner)}
        return keys.pop() if len(keys) == 1 else ""

    def loads(self, key: str) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The loads of an optimizer's state from an element of something, and what it is an element of."""
        return [
            (call, call.args[0].value.value)
            for call, owner in self._loads
            if self._roles.of(owner).role == "optimizer"
            and isinstance(call.args[0].value, cst.Subscript)
            and literal_key(call.args[0].value) == key
        ]


def _says_scaler(key: cst.CSTNode | None) -> bool:
    return vocabulary.SCALER_STATE.search(literal_key(key)) is not None
