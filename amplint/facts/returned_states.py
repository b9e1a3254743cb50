"""States that a function returns, and its callers save."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.facts.optimizer_checkpoints import SavedState
from amplint.facts.saving_calls import says_save
from amplint.facts.scaler_checkpoints import ScalerStates
from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.nodes import within


class ReturnedStates:
    """What becomes of the states of optimizers that the functions of one file return."""

    def __init__(self, file: File) -> None:
        self._tree, self._flow, self._classes = file.tree, file.flow, file.classes
        self._scaler_states = file.fact(ScalerStates)

    def are_saved(self, state: SavedState) -> bool:
        """Whether a state is saved by a function, or by code at the top of the file, that calls the one which returns it; also by
        a method of a base class in another file, which leaves to its heirs what is saved.

        Args:
            state: the state.
        """
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        if not state.returned or not isinstance(home, cst.FunctionDef):
            return False
        asked: list[cst.Call] | list[cst.Attribute] = self._flow.calls(home.name.value)
        if any(path_of(each.decorator) in ("property", "cached_property") for each in home.decorators):
            asked = [each for each in self._tree.find(cst.Attribute) if each.attr.value == home.name.value]
        here = any(self._saves(self._tree.enclosing(each, cst.FunctionDef)) for each in asked)
        return here or self.saver_abroad(state) is not None

    def saver_abroad(self, state: SavedState) -> cst.FunctionDef | None:
        """The method of a base class in another file that saves a state which a method of an heir returns to it.

        Args:
            state: the state.
        """
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        if not state.returned or not isinstance(home, cst.FunctionDef):
            return None
        return next(filter(self._saves, self._inherited_callers(home)), None)

    def _inherited_callers(self, method: cst.FunctionDef) -> Iterator[cst.FunctionDef]:
        """The methods of bases in other files that call a method of the same object; none where one keeps a scaler's state."""
        info = self._classes.owner(method)
        bases = [each for each in info.lineage[1:] if self._is_abroad(each)] if info is not None else []
        if any(self._scaler_states.kept_by(each) for base in bases for each in base.methods.values()):
            return
        for base in bases:
            for each in base.methods.values():
                called = (path_of(node.func) for node in within(each) if isinstance(node, cst.Call))
                if f"self.{method.name.value}" in called:
                    yield each

    def _is_abroad(self, info: ClassInfo) -> bool:
        return self._tree.root(info.node) is not self._tree.module

    def _saves(self, function: cst.CSTNode | None) -> bool:
        inside = within(function) if function is not None else self._tree.find(cst.Call)
        return any(isinstance(node, cst.Call) and says_save(node) for node in inside)
