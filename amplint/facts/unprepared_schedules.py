"""Schedules that accelerate was not given, while it was given their optimizer, whose steps it skips."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.preparations import LOOPS, Preparations, stepped
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of


@frozen
class UnpreparedSchedule:
    """A call that advances a schedule in the loop of a step that an accelerator may skip, and that step."""

    advance: cst.Call
    step: cst.Call


class UnpreparedSchedules:
    """Those of one file: a schedule that was prepared waits for its optimizer, any other does not."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._given = file.tree, file.roles, file.fact(Preparations)

    @cached_property
    def found(self) -> tuple[UnpreparedSchedule, ...]:
        """All of them, in source order."""
        waiting = {path for call in self._given.calls for names in self._given.handed_back(call) for path in names}
        return tuple(each for call in self._given.scaling for each in self._beside(call, waiting))

    def _beside(self, preparing: cst.Call, waiting: set[str]) -> Iterator[UnpreparedSchedule]:
        """Those that a function advances which also prepares the optimizer, or the class if it keeps that; without those under
        the names of what waits."""
        prepared = dict(self._given.handed_back(preparing))
        owner = self._tree.enclosing(preparing, cst.ClassDef)
        is_kept = owner is not None and any(name.startswith("self.") for name in prepared.values())
        home = owner if owner is not None and is_kept else self._tree.function(preparing) or self._tree.module
        steps = {
            call: receiver for call in self._tree.inside(home, cst.Call) if (receiver := stepped(call)) is not None
        }
        for call, schedule in steps.items():
            loop = self._tree.enclosing(call, *LOOPS)
            if loop is None or not self._repeats(loop) or path_of(schedule) in waiting or self._may_wait(call, loop):
                continue
            optimizers = {prepared[each] for each in self._scheduled(schedule) if each in prepared}
            stepping = (each for each, owner in steps.items() if path_of(owner) in optimizers)
            step = next((each for each in stepping if self._tree.enclosing(each, *LOOPS) is loop), None)
            if step is not None:
                yield UnpreparedSchedule(call, step)

    def _repeats(self, loop: cst.CSTNode) -> bool:
        """Whether something is a loop, or a function that this file calls in one."""
        if not isinstance(loop, cst.FunctionDef):
            return isinstance(loop, (cst.For, cst.While))
        calls = self._roles.flow.calls_of(loop)
        return any(isinstance(self._tree.enclosing(each, *LOOPS), (cst.For, cst.While)) for each in calls)

    def _scheduled(self, schedule: cst.BaseExpression) -> Iterator[str]:
        """The optimizer of a schedule, as the call that makes it is given that; nothing for what is none."""
        if self._roles.of(schedule).role == "scheduler":
            made = (value for value in self._roles.values(schedule) if isinstance(value, cst.Call))
            yield from (path_of(arg.value) for call in made for arg in call.args)

    def _may_wait(self, call: cst.Call, loop: cst.CSTNode) -> bool:
        """Whether a schedule may advance on a condition, or the loop asks about steps that were skipped."""
        around = self._tree.enclosing(call, cst.If, cst.IfExp, *LOOPS)
        if any(map(vocabulary.STEP_GATE.search, self._tree.words(loop))):
            return True
        if not isinstance(around, (cst.If, cst.IfExp)) or "sync_gradients" in self._tree.words(around.test):
            return False
        return not _is_past_a_count(around.test)


def _is_past_a_count(test: cst.BaseExpression) -> bool:
    """Whether a test asks whether a counter is past some place in the run: `step > warmup`."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    ordered = isinstance(
        test.comparisons[0].operator, (cst.LessThan, cst.GreaterThan, cst.LessThanEqual, cst.GreaterThanEqual)
    )
    sides = (test.left, test.comparisons[0].comparator)
    return ordered and any(vocabulary.COUNTER.search(path_of(each)) is not None for each in sides)
