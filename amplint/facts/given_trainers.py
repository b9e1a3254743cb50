"""States that a file takes of the optimizers of a trainer which it is given, and whose class it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import trains
from amplint.facts.optimizer_checkpoints import OptimizerStates
from amplint.facts.returned_states import ReturnedStates
from amplint.facts.save_helpers import SaveHelpers
from amplint.facts.scaler_checkpoints import steppers_of
from amplint.facts.steps_abroad import speaks_of
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of


@frozen
class TakenFromTrainer:
    """Where the state of an optimizer of a trainer is taken, or given to a helper that takes it; and the fact that something
    steps it through a scaler, in a trainer of this name."""

    place: cst.BaseExpression
    needs: str


class GivenTrainers:
    """The trainers that the functions and objects of one file are given."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._classes = file.tree, file.names, file.classes
        self._objects, self._roles = file.callees.objects, file.roles
        self._states, self._returned = file.fact(OptimizerStates), file.fact(ReturnedStates)
        self._steppers, self._helpers = file.fact(steppers_of), file.fact(SaveHelpers)

    @cached_property
    def found(self) -> tuple[TakenFromTrainer, ...]:
        """The first state of each dict or file, in source order, where the file speaks of no scaler."""
        found: dict[int, TakenFromTrainer] = {}
        for place, optimizer in (*self._taken_here(), *self._taken_by_helpers()):
            if isinstance(optimizer, cst.Attribute) and self._is_given(optimizer.value):
                holder = path_of(optimizer.value).rpartition(".")[2].strip("_")
                needed = trains(holder.lower(), optimizer.attr.value)
                found.setdefault(id(place), TakenFromTrainer(place, needed))
        return () if found and self._speaks_of_scalers else tuple(found.values())

    def _taken_here(self) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """The optimizers whose states are put into something that is saved, each with the place of that."""
        for state in self._states.found:
            if not state.open and (state.saved or self._returned.are_saved(state)):
                yield state.place, state.optimizer

    def _taken_by_helpers(self) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """The optimizers that helpers of other files are given, and save without a scaler; each with the call."""
        for call in self._tree.find(cst.Call):
            given = (arg.value for arg in call.args if type(arg.value) is cst.Attribute)
            callee = self._helpers.callee(call) if any(map(self._names_optimizer, given)) else None
            if callee is not None and not self._helpers.keeps_scaler(callee.node):
                yield from ((call, each) for each in self._helpers.given(call, callee) if self._names_optimizer(each))

    def _names_optimizer(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Attribute) and vocabulary.OPTIMIZER.search(node.attr.value) is not None

    @property
    def _speaks_of_scalers(self) -> bool:
        words = self._tree.words(self._tree.module)
        return any(map(vocabulary.SCALER_STATE.search, words)) or speaks_of(self._tree, "scaler")

    def _is_given(self, holder: cst.BaseExpression) -> bool:
        """Whether an object is one that a function was given, or that `self` keeps of such, and its class is not known."""
        if self._steppers.pairs or self._objects.class_of(holder) is not None:
            return False
        if isinstance(holder, cst.Name):
            return self._is_param(holder)
        if path_of(holder).count(".") != 1 or not path_of(holder).startswith("self."):
            return False
        values = [each for each in self._roles.values(holder) if path_of(each) != "None"]
        return all(isinstance(each, cst.Name) and self._is_param(each) for each in values)

    def _is_param(self, name: cst.Name) -> bool:
        bindings = self._names.bindings(name.value, name)
        return bool(bindings) and all(isinstance(each.node, cst.Param) for each in bindings)
