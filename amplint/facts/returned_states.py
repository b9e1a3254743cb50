"""States that a function returns, and its callers save."""

from __future__ import annotations

import libcst as cst

from amplint.facts.optimizer_checkpoints import SavedState, says_save
from amplint.file import File
from amplint.syntax.nodes import within


class ReturnedStates:
    """What becomes of the states of optimizers that the functions of one file return."""

    def __init__(self, file: File) -> None:
        self._tree, self._flow = file.tree, file.flow

    def are_saved(self, state: SavedState) -> bool:
        """Whether a state is saved by a function, or by code at the top of the file, that calls the one which returns it.

        Args:
            state: the state.
        """
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        if not state.returned or not isinstance(home, cst.FunctionDef):
            return False
        calls = self._flow.calls(home.name.value)
        return any(self._saves(self._tree.enclosing(call, cst.FunctionDef)) for call in calls)

    def _saves(self, function: cst.CSTNode | None) -> bool:
        inside = within(function) if function is not None else self._tree.find(cst.Call)
        return any(isinstance(node, cst.Call) and says_save(node) for node in inside)
