"""Which scalers are known where a checkpoint is put together: the others are for somebody else to save."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.named_scalers import wrappers_of
from amplint.file import File
from amplint.roles.step_pairs import StepPair, Steppers
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by, params_of

_MAX_CALLERS = 3


class ScalersAtHand:
    """The scalers of one file, asked from the places where the states of their optimizers are taken.

    Args:
        file: the file.
        steppers: who steps what in it.
    """

    def __init__(self, file: File, steppers: Steppers) -> None:
        self._tree, self._roles, self._classes, self._callees = file.tree, file.roles, file.classes, file.callees
        self._names = file.names
        self._wrappers, self._steppers, self._flow = file.fact(wrappers_of), steppers, steppers.flow

    def is_known(self, pair: StepPair, place: cst.CSTNode) -> bool:
        """Whether a scaler is made in this file, or known where a checkpoint is put together: else its owner may save it.

        Args:
            pair: the scaler, and the optimizer that it steps.
            place: where the state of the optimizer is taken.
        """
        if self._lives_for_one_step(pair):
            return False
        if path_of(pair.scaler).startswith("self."):
            return not self._is_replaced(pair.scaler, place)
        given = self._tree.enclosing(pair.scaler, cst.FunctionDef)
        if not isinstance(given, cst.FunctionDef) or given in self._tree.ancestors(place):
            return True
        home = self._tree.enclosing(place, cst.FunctionDef)
        return self._is_handed_on(pair.scaler) and not (isinstance(home, cst.FunctionDef) and self._is_left_out(home))

    def _lives_for_one_step(self, pair: StepPair) -> bool:
        """Whether each step of an optimizer from outside has a scaler of its own, whose state is of no use afterwards."""
        home = self._tree.enclosing(pair.call, cst.FunctionDef, cst.For, cst.While)
        stepped = path_of(pair.optimizer).partition(".")[0]
        if not isinstance(home, cst.FunctionDef) or stepped in self._assigned_in(home):
            return False
        made = list(self._roles.values(pair.scaler)) if isinstance(pair.scaler, cst.Name) else []
        return bool(made) and all(self._roles.made_by(each) and home in self._tree.ancestors(each) for each in made)

    def _assigned_in(self, home: cst.FunctionDef) -> set[str]:
        """The names that a function binds itself, and does not get from its caller."""
        bound = self._names.bindings_in(home).items()
        return {name for name, each in bound if not all(isinstance(one.node, cst.Param) for one in each)}

    def is_made(self, scaler: cst.BaseExpression) -> bool:
        """Whether the text of this file makes a scaler."""
        made = (value for value in self._roles.values(scaler) if self._roles.made_by(value) is not None)
        return any(self._tree.root(value) is self._tree.module for value in made)

    def _is_handed_on(self, scaler: cst.BaseExpression, callers: int = _MAX_CALLERS) -> bool:
        """Whether a scaler is made in this file: in its function, or by one that hands it on."""
        values = list(self._roles.values(scaler))
        if self._wrappers.may_name(scaler) or any(self._roles.made_by(value) is not None for value in values):
            return True
        if self._roles.of(scaler).made:  # by a function that gives it back
            return True
        if callers and isinstance(scaler, cst.Attribute) and any(map(self._makes_for, self._kept_by_callers(scaler))):
            return True
        given = self._flow.given(scaler) if callers else ()
        return any(
            self._is_handed_on(each, callers - 1) if path_of(each) else self._roles.made_by(each) for each in given
        )

    def _makes_for(self, value: cst.BaseExpression | None) -> bool:
        """Whether a value, or one side of a choice, is a scaler that is made there."""
        sides = (value.body, value.orelse) if isinstance(value, cst.IfExp) else (value,)
        return any(isinstance(each, cst.Call) and self._roles.made_by(each) is not None for each in sides)

    def _kept_by_callers(self, attribute: cst.Attribute) -> Iterator[cst.BaseExpression | None]:
        """What those who call a function assign to an attribute of what they hand over: `args.scaler = GradScaler()`."""
        for given in self._flow.given(attribute.value):
            path = path_of(given)
            assigned = self._flow.assigned(f"{path}.{attribute.attr.value}", given) if path else ()
            yield from (each.value for each in assigned if isinstance(each, (cst.Assign, cst.AnnAssign)))

    def _is_replaced(self, scaler: cst.BaseExpression, place: cst.CSTNode) -> bool:
        """Whether a subclass, which takes the optimizer's state, has another object in the place of its base class's scaler."""
        owner = self._classes.owner(place)
        own = owner.attributes.get(path_of(scaler).removeprefix("self."), []) if owner is not None else []
        if owner is self._classes.owner(scaler) or not own:
            return False
        made = (self._roles.made_by(value) for value in own)
        return not any(self._wrappers.may_name(value) for value in own) and not any(
            facts is not None and facts.role == "scaler" for facts in made
        )

    def _is_left_out(self, home: cst.FunctionDef) -> bool:
        """Whether a function calls one that steps through a scaler if it is given one, and gives it none."""
        if any(self._tree.enclosing(pair.call, cst.FunctionDef) is home for pair in self._steppers.pairs):
            return False
        steps = [
            (call, stepping, name)
            for stepping, name in self._takers
            for call in self._flow.calls_of(stepping)
            if home in self._tree.ancestors(call)
        ]
        return bool(steps) and not any(self._may_give(*each) for each in steps)

    @cached_property
    def _takers(self) -> set[tuple[cst.FunctionDef, str]]:
        """The functions that step through a scaler which they are given, or hand it on, each with the parameter for it."""
        found = set()
        for pair in self._steppers.pairs:
            home, callee = self._tree.enclosing(pair.call, cst.FunctionDef), self._callees.of(pair.call)
            if isinstance(home, cst.FunctionDef):
                found.add((home, path_of(pair.scaler)))
            if callee is not None:
                names = (each.name.value for each in params_of(callee.node))
                found.update(
                    (callee.node, each) for each in names if given_by(pair.call, callee.node, each) is pair.scaler
                )
        return {
            (function, name) for function, name in found if name in {each.name.value for each in params_of(function)}
        }

    @staticmethod
    def _may_give(call: cst.Call, function: cst.FunctionDef, parameter: str) -> bool:
        given = given_by(call, function, parameter)
        return any(arg.star for arg in call.args) or (given is not None and path_of(given) != "None")
