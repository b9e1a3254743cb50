"""Checkpoints to resume from: where the state of optimizers is put to be saved, and whether that of their scaler is, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import OptimizerStates, SavedState, says_save
from amplint.facts.restored_checkpoints import Unrestored, unrestored
from amplint.facts.scaler_checkpoints import ScalerStates
from amplint.file import File
from amplint.model import vocabulary
from amplint.roles.step_pairs import StepPair, Steppers
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.tree import within

_MAX_CALLERS = 3


@dataclass(frozen=True)
class Incomplete:
    """A checkpoint with the state of an optimizer, and without that of the scaler that steps it.

    `place` is the dict, the key or the call that puts the optimizer's state there. `state` is None where a `helper` takes it,
    and `parameter` then that which this helper has for the scaler, if it has one.
    """

    place: cst.BaseExpression
    pair: StepPair
    state: SavedState | None = None
    parameter: str = ""
    helper: cst.FunctionDef | None = None


class Checkpoints:
    """The checkpoints of one file."""

    def __init__(self, file: File) -> None:
        self._callees = file.callees
        self._tree, self._names, self._roles = file.tree, file.names, file.roles
        self._steppers = Steppers(self._tree, self._roles)
        self._states = file.fact(OptimizerStates)
        self.scaler_states = file.fact(ScalerStates)

    @cached_property
    def incomplete(self) -> tuple[Incomplete, ...]:
        """Those that lack the state of an enabled scaler, in source order."""
        if not self._steppers.pairs:
            return ()
        found: dict[tuple[object, ...], Incomplete] = {}
        for each in (*self._taken(), *self._left_out()):
            found.setdefault(self._checkpoint(each), each)
        return tuple(sorted(found.values(), key=lambda each: self._tree.order(each.place)))

    @cached_property
    def unrestored(self) -> tuple[Unrestored, ...]:
        """The loads that leave the state of an enabled scaler in the checkpoint, in source order."""
        if not self._steppers.pairs:
            return ()
        found = {
            id(each.call): each
            for each in unrestored(self._tree, self._states.found, self.scaler_states, self._steppers)
        }
        return tuple(sorted(found.values(), key=lambda each: self._tree.order(each.call)))

    def _checkpoint(self, each: Incomplete) -> tuple[object, ...]:
        """What makes several places one checkpoint: a dict, or what one function saves."""
        home = self._tree.function(each.place)
        return (home, each.state.container) if each.state is not None and each.state.container else (id(each.place),)

    # -- what is kept ----------------------------------------------------------------------------------------------

    def _taken(self) -> Iterator[Incomplete]:
        """Checkpoints that are put together in this file."""
        takers = {self._tree.function(each.place) for each in self._states.found}
        if any(home not in takers for home in self.scaler_states.keepers):
            return  # the scaler's state has a place of its own
        for state in self._states.found:
            pair = self._steppers.of(state.optimizer)
            if pair is None or state.open or not self._is_held(pair.scaler, state):
                continue
            if self._is_saved(state) and not self._is_kept_with(state):
                yield Incomplete(state.place, pair, state)

    def _is_held(self, scaler: cst.BaseExpression, state: SavedState) -> bool:
        """Whether a scaler is made in this file, or known where the checkpoint is put together: else its owner may save it."""
        if path_of(scaler).startswith("self."):
            return True
        given = self._tree.enclosing(scaler, cst.FunctionDef)
        made = any(self._roles.made_by(value) is not None for value in self._roles.values(scaler))
        return made or given is None or given in self._tree.ancestors(state.place)

    def _is_saved(self, state: SavedState) -> bool:
        """Whether a state is saved: where it is taken, or by those that get it from there."""
        if state.saved or not state.returned:
            return state.saved
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        if not isinstance(home, cst.FunctionDef):
            return False
        return any(
            self._saves(self._tree.enclosing(call, cst.FunctionDef))
            for call in self._steppers.flow.calls(home.name.value)
        )

    def _saves(self, function: cst.CSTNode | None) -> bool:
        inside = within(function) if function is not None else self._tree.find(cst.Call)
        return any(isinstance(node, cst.Call) and says_save(node) for node in inside)

    def _is_kept_with(self, state: SavedState) -> bool:
        """Whether the scaler's state is kept by the same function, by one that it calls, or by one that calls it."""
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        group: list[cst.CSTNode | None] = [home]
        if home is not None:
            group.append(self._tree.enclosing(home, cst.FunctionDef))
        for _ in range(_MAX_CALLERS):
            callers = [
                call
                for each in group
                if isinstance(each, cst.FunctionDef)
                for call in self._steppers.flow.calls(each.name.value)
            ]
            group.extend({self._tree.enclosing(call, cst.FunctionDef) for call in callers} - set(group))
        for call in self._tree.find(cst.Call):
            if home is not None and home in self._tree.ancestors(call) and self._hands_on(call, state):
                callee = self._callee(call)
                group.append(callee)
                if callee is not None and self.scaler_states.kept_by(callee):
                    return True
        return any(each in self.scaler_states.keepers for each in group)

    @staticmethod
    def _hands_on(call: cst.Call, state: SavedState) -> bool:
        return says_save(call) or any(path_of(arg.value) == state.container != "" for arg in call.args)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _left_out(self) -> Iterator[Incomplete]:
        """Calls of helpers that save the state of an optimizer which they are given, and get no scaler with it."""
        for call in self._tree.find(cst.Call):
            if not says_save(call) or any(arg.star for arg in call.args):
                continue
            callee = self._callee(call)
            pair = self._saved_by(callee, call) if callee is not None else None
            if callee is None or pair is None:
                continue
            scalers = [each for each in _optional(callee) if vocabulary.SCALER_STATE.search(each)]
            if scalers:
                if self.scaler_states.kept_by(callee) and given_by(call, callee, scalers[0]) is None:
                    yield Incomplete(call, pair, None, scalers[0], callee)
            elif self._tree.root(callee) is not self._tree.module and not self.scaler_states.kept_by(callee):
                if not self._given_scaler(call):
                    yield Incomplete(call, pair, helper=callee)

    def _given_scaler(self, call: cst.Call) -> bool:
        return any(self.scaler_states.names(node) for arg in call.args for node in within(arg.value)
                   if isinstance(node, (cst.Name, cst.Attribute)))  # fmt: skip

    def _saved_by(self, callee: cst.FunctionDef, call: cst.Call) -> StepPair | None:
        """The pair of an optimizer that is given to a helper which takes its state."""
        for node in within(callee):
            match node:
                case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="state_dict"))):
                    given = given_by(call, callee, name)
                    pair = self._steppers.of(given) if given is not None and path_of(given) else None
                    if pair is not None:
                        return pair
        return None

    def _callee(self, call: cst.Call) -> cst.FunctionDef | None:
        found = self._callees.of(call)
        return found.node if found is not None else None


def _optional(function: cst.FunctionDef) -> list[str]:
    """The parameters with a default."""
    params = (*function.params.params, *function.params.kwonly_params)
    return [each.name.value for each in params if each.default is not None]
