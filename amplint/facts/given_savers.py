"""Objects for saving that a training function is given, and that cannot know the scaler which it makes for itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.saving_calls import says_save
from amplint.facts.scaler_checkpoints import ScalerStates, steppers_of
from amplint.facts.scaler_reach import ConfinedScalers
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.roles.step_pairs import StepPair
from amplint.syntax.access_paths import path_of
from amplint.syntax.words import words


@frozen
class BeyondReach:
    """A call that saves the progress of a training, by an object that was given, and the pair whose scaler it cannot reach."""

    call: cst.Call
    pair: StepPair


class GivenSavers:
    """The objects for saving that the functions of one file are given."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles = file.tree, file.names, file.roles
        self._confined, self._states = file.fact(ConfinedScalers), file.fact(ScalerStates)
        self._steppers = file.fact(steppers_of)

    @cached_property
    def found(self) -> tuple[BeyondReach, ...]:
        """The first call for each of them, in source order."""
        found: dict[tuple[cst.CSTNode, str], BeyondReach] = {}
        for call in self._tree.find(cst.Call):
            saver = call.func.value if type(call.func) is cst.Attribute and says_save(call) else None
            if type(saver) is cst.Name and vocabulary.SAVER.search(saver.value) and self._tells_progress(call):
                home = self._giver(saver)
                pair = next(self._pairs(home), None) if home is not None else None
                if home is not None and pair is not None:
                    found.setdefault((home, saver.value), BeyondReach(call, pair))
        return tuple(found.values()) if found and not self._states.keepers else ()

    def _giver(self, name: cst.Name) -> cst.FunctionDef | None:
        """The function of which a name is a parameter, and nothing else."""
        bindings = self._names.bindings(name.value, name)
        if len(bindings) != 1 or not isinstance(bindings[0].node, cst.Param):
            return None
        home = self._tree.enclosing(bindings[0].node, cst.FunctionDef)
        return home if isinstance(home, cst.FunctionDef) else None

    def _pairs(self, home: cst.FunctionDef) -> Iterator[StepPair]:
        """The scalers that a function makes for itself, with the optimizers that it is given."""
        for pair in self._steppers.pairs:
            optimizer = pair.optimizer
            given = isinstance(optimizer, cst.Name) and self._giver(optimizer) is home
            if given and self._confined.holds(pair.scaler) and self._is_made_in(pair.scaler, home):
                yield pair

    def _is_made_in(self, scaler: cst.BaseExpression, home: cst.FunctionDef) -> bool:
        assert isinstance(scaler, cst.Name)
        bindings = self._names.bindings(scaler.value, scaler)
        made = [each.value for each in bindings if each.value is not None and path_of(each.value) != "None"]
        inside = all(each.node is not None and self._tree.function(each.node) is home for each in bindings)
        return inside and bool(made) and all(self._roles.made_by(value) is not None for value in made)

    def _tells_progress(self, call: cst.Call) -> bool:
        """Whether a save is told how far the training has come, so that somebody may go on from there."""
        if any(self._states.names(arg.value) for arg in call.args):
            return False
        told = (arg for arg in call.args if arg.star == "**" or arg.keyword is not None)
        return any(
            arg.keyword is None or any(map(vocabulary.COUNTER.search, (arg.keyword.value, *words(arg.value))))
            for arg in told
        )
