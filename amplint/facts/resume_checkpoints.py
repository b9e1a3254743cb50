"""Checkpoints to resume from: where the state of optimizers is put to be saved, and whether that of their scaler is, too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import OptimizerStates, SavedState
from amplint.facts.own_states import OwnStates
from amplint.facts.restored_checkpoints import Unrestored, unrestored
from amplint.facts.restoring_helpers import RestoringHelpers
from amplint.facts.returned_states import ReturnedStates
from amplint.facts.save_helpers import SaveHelpers
from amplint.facts.saved_by_helpers import Incomplete, SavedByHelpers
from amplint.facts.saving_calls import is_for_saving, registers, says_save
from amplint.facts.scaler_checkpoints import ScalerStates, steppers_of
from amplint.facts.scaler_reach import ConfinedScalers
from amplint.facts.scalers_at_hand import ScalersAtHand
from amplint.file import File
from amplint.model import vocabulary
from amplint.roles.step_pairs import StepPair
from amplint.syntax.access_paths import elements, path_of

_MAX_CALLERS = 3


class Checkpoints:
    """The checkpoints of one file."""

    def __init__(self, file: File) -> None:
        self._callees, self._classes = file.callees, file.classes
        self._tree, self._names, self._roles = file.tree, file.names, file.roles
        self._steppers = file.fact(steppers_of)
        self._states = file.fact(OptimizerStates)
        self._helpers = file.fact(SaveHelpers)
        self._confined = file.fact(ConfinedScalers)
        self._own_states, self._returned = file.fact(OwnStates), file.fact(ReturnedStates)
        self._restoring = file.fact(RestoringHelpers)
        self._at_hand = ScalersAtHand(file, self._steppers)
        self.scaler_states = file.fact(ScalerStates)
        self._by_helpers = file.fact(SavedByHelpers)

    @cached_property
    def incomplete(self) -> tuple[Incomplete, ...]:
        """Those that lack the state of an enabled scaler, in source order."""
        if not self._saves_anything or not self._steppers.pairs:
            return ()
        found: dict[tuple[object, ...], Incomplete] = {}
        taken = tuple(self._taken())
        told = {self._classes.owner(each.place) for each in taken} - {None}
        homes = {self._tree.function(each.place) for each in taken}
        left_out = [
            each
            for each in self._by_helpers.left_out()
            if each.helper not in homes and self._classes.owner(each.helper or each.place) not in told
        ]
        own = (each for each in taken if not any(self._goes_into(each.state, other.place) for other in left_out))
        for each in (*own, *left_out, *self._by_helpers.given_away()):
            found.setdefault(self._checkpoint(each), each)
        whole = {self._variable(each) for each in found.values() if self._holds_weights(each)} - {None}
        kept = [each for each in found.values() if self._variable(each) not in whole or self._holds_weights(each)]
        return tuple(sorted(kept, key=lambda each: self._tree.order(each.place)))

    def _goes_into(self, state: SavedState | None, call: cst.BaseExpression) -> bool:
        """Whether a call is given what holds a state: both are one checkpoint then."""
        args = call.args if isinstance(call, cst.Call) else ()
        return state is not None and any(
            arg.value is state.place or path_of(arg.value) == state.container != "" for arg in args
        )

    @cached_property
    def unrestored(self) -> tuple[Unrestored, ...]:
        """The loads that leave the state of an enabled scaler in the checkpoint, in source order."""
        if not self._states.found or not self._steppers.pairs:
            return ()
        loads = unrestored(self._tree, self._states.found, self.scaler_states, self._steppers, self._restoring)
        found = {id(each.call): each for each in loads}
        return tuple(sorted(found.values(), key=lambda each: self._tree.order(each.call)))

    @cached_property
    def _saves_anything(self) -> bool:
        """Whether anything is put together, called or made to save something: most files need not be asked who steps what."""
        calls = self._tree.find(cst.Call)
        return any(says_save(call) or is_for_saving(call) for call in calls) or bool(self._states.found)

    def _checkpoint(self, each: Incomplete) -> tuple[object, ...]:
        """What makes several places one checkpoint: a dict, or what one function saves."""
        if each.saver:
            return self._tree.function(each.place), "", each.saver
        variable = self._variable(each)
        assigned = self._steppers.flow.assigned(variable[1], each.place) if variable is not None else ()
        made = [id(node) for node in assigned if self._tree.order(node) < self._tree.order(each.place)]
        return (*variable, *made[-1:]) if variable is not None else (id(each.place),)

    def _variable(self, each: Incomplete) -> tuple[cst.CSTNode | None, str] | None:
        """The variable that holds a checkpoint: the function that it belongs to, and its path."""
        path = each.state.container if each.state is not None else ""
        return (self._tree.function(each.place), path) if path else None

    def _holds_weights(self, each: Incomplete) -> bool:
        """Whether the display of a dict holds the weights of a model, too: of several that a variable may hold, those are
        resumed from."""
        return any(vocabulary.WEIGHTS.search(key) for key, _ in elements(each.place))

    # -- what is kept ----------------------------------------------------------------------------------------------

    def _taken(self) -> Iterator[Incomplete]:
        """Checkpoints that are put together in this file."""
        takers = {self._tree.function(each.place) for each in self._states.found}
        if any(home not in takers for home in self.scaler_states.keepers):
            return  # the scaler's state has a place of its own
        for state in self._states.found:
            pair = self._steppers.of(state.optimizer)
            if pair is None or not self._at_hand.is_known(pair, state.place):
                continue
            if state.open and not self._confined.holds(pair.scaler):
                continue
            if registers(state.place) and not self._at_hand.is_made(pair.scaler):
                continue  # whoever makes the scaler may register it
            if self._holds_owner(state, pair.scaler):
                continue
            if self._is_saved(state, pair) and not self._is_kept_with(state, pair):
                yield Incomplete(state.place, pair, state)

    def _holds_owner(self, state: SavedState, scaler: cst.BaseExpression) -> bool:
        """Whether a checkpoint holds the whole object that a scaler is an attribute of: `"args": args` beside `args.scaler`."""
        if not isinstance(scaler, cst.Attribute):
            return False
        owners = {path_of(each) for each in (scaler.value, *self._steppers.flow.given(scaler.value))} - {"", "self"}
        return any(path_of(element.value) in owners for _, element in elements(state.place))

    def _is_saved(self, state: SavedState, pair: StepPair) -> bool:
        """Whether a state is saved: where it is taken, or by those that get it from there."""
        if state.saved or self._returned.are_saved(state):
            return True
        in_function = isinstance(self._tree.enclosing(state.place, cst.FunctionDef), cst.FunctionDef)
        return state.returned and in_function and self._own_states.is_one(state, pair)

    def _is_kept_with(self, state: SavedState, pair: StepPair) -> bool:
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
                if self._may_run(call, each)
            ]
            group.extend({self._tree.enclosing(call, cst.FunctionDef) for call in callers} - set(group))
        for call in self._tree.find(cst.Call):
            if home is not None and home in self._tree.ancestors(call) and self._hands_on(call, state):
                callee = self._callees.of(call)
                if callee is not None and self._helpers.keeps_scaler(callee.node):
                    return True
                group.append(callee.node if callee is not None else None)
        return self.scaler_states.serve(state, group, pair.scaler)

    def _may_run(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        """Whether a call of something with the name of a function may run it: `torch.save(...)` runs no method `save`."""
        callee = self._callees.of(call)
        is_torchs = any(name.startswith("torch.") for name in self._names.resolve(call.func))
        return not is_torchs and (callee is None or callee.node is function)

    @staticmethod
    def _hands_on(call: cst.Call, state: SavedState) -> bool:
        return says_save(call) or any(path_of(arg.value) == state.container != "" for arg in call.args)
