"""Checkpoints that helpers save which are given an optimizer, and never its scaler."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.facts.optimizer_checkpoints import SavedState
from amplint.facts.save_helpers import SaveHelpers
from amplint.facts.scaler_checkpoints import ScalerStates, is_flag, steppers_of
from amplint.facts.scaler_reach import ConfinedScalers
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.roles.call_targets import Callee
from amplint.roles.step_pairs import StepPair
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.nodes import within
from amplint.syntax.unused_arguments import used_arguments, uses


@frozen
class Incomplete:
    """A checkpoint with the state of an optimizer, and without that of the scaler that steps it.

    `place` is the dict, the key or the call that puts the optimizer's state there. `state` is None where a `helper` takes it,
    and `parameter` then that which this helper has for the scaler, if it has one; `saver` is the object that the helper
    is a method of.
    """

    place: cst.BaseExpression
    pair: StepPair
    state: SavedState | None = None
    parameter: str = ""
    helper: cst.FunctionDef | None = None
    saver: str = ""


class SavedByHelpers:
    """The calls of one file that save an optimizer without its scaler.

    Args:
        file: the file.
    """

    def __init__(self, file: File) -> None:
        self._tree, self._classes = file.tree, file.classes
        self._steppers = file.fact(steppers_of)
        self._helpers = file.fact(SaveHelpers)
        self._confined = file.fact(ConfinedScalers)
        self._scaler_states = file.fact(ScalerStates)

    def left_out(self) -> Iterator[Incomplete]:
        """Calls of helpers that save the state of an optimizer which they are given, and get no scaler with it."""
        for call in self._tree.find(cst.Call):
            callee = self._helpers.callee(call)
            pair = self._saved_by(call, callee) if callee is not None else None
            if (
                callee is None
                or pair is None
                or (any(arg.star for arg in call.args) and not self._confined.holds(pair.scaler))
            ):
                continue
            scalers = self._scalers_of(callee.node)
            keeps = self._helpers.keeps_scaler(callee.node)
            if scalers:
                if keeps and given_by(call, callee.node, scalers[0]) is None:
                    yield Incomplete(call, pair, None, scalers[0], callee.node)
            elif not keeps and (self._is_elsewhere(callee) or self._helpers.goes_through(callee.node)):
                if not self._gets_scaler(call, callee):
                    yield Incomplete(call, pair, helper=callee.node, saver=callee.receiver or "")

    def _is_elsewhere(self, callee: Callee) -> bool:
        """Whether a helper is of another file, or of an object that keeps what it was given when it was made."""
        return callee.made is not None or self._tree.root(callee.node) is not self._tree.module

    def given_away(self) -> Iterator[Incomplete]:
        """Calls that make an object which saves the optimizer that they give it, and never gets the scaler."""
        for call, callee in self._helpers.savers():
            pair = self._saved_by(call, callee)
            if pair is None or self._helpers.keeps_scaler(callee.node) or self._gets_scaler(call, callee):
                continue
            if not self._meets_scaler(callee.receiver or ""):
                yield Incomplete(call, pair, helper=callee.node, saver=callee.receiver or "")

    def _meets_scaler(self, saver: str) -> bool:
        """Whether something gets an object that saves together with a scaler: it may bring the two together."""
        for call in self._tree.find(cst.Call):
            given = [arg.value for arg in call.args]
            if any(path_of(each) == saver for each in given) and any(map(self._scaler_states.names, given)):
                return True
        return False

    def _gets_scaler(self, call: cst.Call, callee: Callee) -> bool:
        """Whether a helper is given a scaler: by the call, or by one of the object that it is a method of."""
        given = list(used_arguments(call, callee.node)) if call is not callee.made else []
        if callee.made is not None:
            info = self._classes.instance_of(callee.made) or self._classes.owner(callee.node)
            init = info.method("__init__") if info is not None else None
            made = (arg.value for arg in callee.made.args)
            given += used_arguments(callee.made, init, info) if init is not None else made
        calls: list[cst.Call] = []
        if callee.receiver is not None and callee.receiver != "self":
            own = f"{callee.receiver}."
            calls = [
                each for each in self._tree.find(cst.Call) if path_of(each.func).startswith(own) and each is not call
            ]
            kept = (each for each in self._tree.find(cst.Assign) if path_of(each.targets[0].target).startswith(own))
            if any(self._scaler_states.names(each.value) for each in kept):
                return True
        given += [arg.value for each in calls for arg in each.args]
        held = [member for each in given for member in (each, *self._helpers.members(each))]
        return any(self._scaler_states.names(node) for each in held for node in within(each)
                   if isinstance(node, (cst.Name, cst.Attribute)))  # fmt: skip

    def _saved_by(self, call: cst.Call, callee: Callee) -> StepPair | None:
        """The pair of an optimizer whose state a helper takes: one that it is given, or that is an attribute of `self`."""
        for given in self._helpers.given(call, callee):
            pair = self._steppers.of(given) if path_of(given) else None
            if pair is not None:
                return pair
        if callee.receiver != "self":
            return None
        own = {path for path in self._helpers.taken(callee.node) if path.startswith("self.")}
        pairs = (pair for pair in self._steppers.pairs if path_of(pair.optimizer) in own)
        return next((pair for pair in pairs if self._is_same_object(pair.call, call)), None)

    def _is_same_object(self, one: cst.Call, other: cst.Call) -> bool:
        """Whether `self` may be the same object at two places."""
        here, there = self._classes.owner(one), self._classes.owner(other)
        return here is not None and there is not None and (here in there.lineage or there in here.lineage)

    def _scalers_of(self, function: cst.FunctionDef) -> list[str]:
        """The parameters of a helper that take a scaler, or its state, and may be left out; a flag takes none."""
        params = (*function.params.params, *function.params.kwonly_params)
        names = [each.name.value for each in params if each.default is not None and not is_flag(each.default)]
        taken = self._helpers.taken(function)
        return [
            name
            for name in names
            if uses(function, name)
            if vocabulary.SCALER_ITSELF.search(name) or (vocabulary.SCALER_STATE.search(name) and name in taken)
        ]
