"""What an object gives as its own state (`state_dict`), which it also takes back: nobody else saves what it leaves out."""

from __future__ import annotations

import libcst as cst

from amplint.facts.optimizer_checkpoints import SavedState
from amplint.file import File
from amplint.roles.step_pairs import StepPair
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import within

_TAKEN_BACK_BY = {
    "state_dict": "load_state_dict",
    "_state_dict": "_load_state_dict",
    "get_state": "set_state",
    "_get_state": "_set_state",
    "get_states": "set_states",
}
"""The methods by which objects give their states, each with the one that takes them back."""


class OwnStates:
    """The states that the objects of one file give of themselves."""

    def __init__(self, file: File) -> None:
        self._tree, self._classes, self._roles = file.tree, file.classes, file.roles

    def is_one(self, state: SavedState, pair: StepPair) -> bool:
        """Whether the state of an optimizer is part of what an object gives as its own, which the scaler belongs to as well.

        Args:
            state: the state of the optimizer, in what a function returns.
            pair: the scaler that steps this optimizer.
        """
        owner, home = self._classes.owner(state.place), self._tree.enclosing(state.place, cst.FunctionDef)
        if owner is None or not isinstance(home, cst.FunctionDef) or owner.method(home.name.value) is not home:
            return False
        taken_back = owner.method(_TAKEN_BACK_BY.get(home.name.value, ""))
        return (
            taken_back is not None
            and any(self._loads(node, state.optimizer) for node in within(taken_back))
            and self._is_made_for(pair.scaler)
        )

    @staticmethod
    def _loads(node: cst.CSTNode, optimizer: cst.BaseExpression) -> bool:
        match node:
            case cst.Call(func=cst.Attribute(value=loaded, attr=cst.Name(value="load_state_dict"))):
                return path_of(loaded) == path_of(optimizer)
        return False

    def _is_made_for(self, scaler: cst.BaseExpression) -> bool:
        """Whether the file makes a scaler and gives it to an attribute of this name: to `self`, or where an object is built."""
        made = (self._roles.made_by(each) for each in self._roles.flow.sources(scaler))
        is_attribute = isinstance(scaler, cst.Attribute)
        return is_attribute and any(
            each is not None and each.role == "scaler" and each.enabled != "no" for each in made
        )
