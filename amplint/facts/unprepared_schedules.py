"""Schedules that accelerate was not given, while it was given their optimizer, whose steps it skips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name, path_of

_MAKER = "accelerate.pyi"
"""The wrapper that says what an accelerator in float16 does."""
_LOOPS = (cst.For, cst.While, cst.FunctionDef)


@dataclass(frozen=True)
class UnpreparedSchedule:
    """A call that advances a schedule in the loop of a step that an accelerator may skip, and that step."""

    advance: cst.Call
    step: cst.Call


class UnpreparedSchedules:
    """Those of one file: a schedule that was prepared waits for its optimizer, any other does not."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._callees = file.tree, file.roles, file.callees

    @cached_property
    def found(self) -> tuple[UnpreparedSchedule, ...]:
        """All of them, in source order."""
        preparing = [
            call
            for call in self._tree.find(cst.Call)
            if called_name(call).startswith("prepare") and isinstance(call.func, cst.Attribute)
        ]
        if not preparing or any(arg.star for call in preparing for arg in call.args):
            return ()
        waiting = {path for call in preparing for names in self._handed_back(call) for path in names}
        scaling = [call for call in preparing if self._scales(call)]
        return tuple(each for call in scaling for each in self._beside(call, waiting))

    def _scales(self, call: cst.Call) -> bool:
        """Whether a call is of an accelerator that scales."""
        info = self._callees.class_of(call.func.value) if isinstance(call.func, cst.Attribute) else None
        return info is not None and PurePath(self._tree.home(info.node).source.path).name == _MAKER

    def _handed_back(self, call: cst.Call) -> Iterator[tuple[str, str]]:
        """What a call prepares, each with the name that it has afterwards."""
        assign = self._tree.parent(call)
        target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
        names = [each.value for each in target.elements] if isinstance(target, cst.Tuple) else [target]
        for place, arg in enumerate(call.args):
            name = names[place] if len(names) == len(call.args) else None
            yield path_of(arg.value), path_of(name) if name is not None else path_of(arg.value)

    def _beside(self, preparing: cst.Call, waiting: set[str]) -> Iterator[UnpreparedSchedule]:
        """Those that a function advances which also prepares the optimizer; without those under the names of what waits."""
        home, prepared = self._tree.function(preparing) or self._tree.module, dict(self._handed_back(preparing))
        steps = {
            call: receiver for call in self._tree.inside(home, cst.Call) if (receiver := _stepped(call)) is not None
        }
        for call, schedule in steps.items():
            loop = self._tree.enclosing(call, *_LOOPS)
            if not isinstance(loop, (cst.For, cst.While)) or path_of(schedule) in waiting or self._may_wait(call, loop):
                continue
            optimizers = {prepared[each] for each in self._scheduled(schedule) if each in prepared}
            stepping = (each for each, owner in steps.items() if path_of(owner) in optimizers)
            step = next((each for each in stepping if self._tree.enclosing(each, *_LOOPS) is loop), None)
            if step is not None:
                yield UnpreparedSchedule(call, step)

    def _scheduled(self, schedule: cst.BaseExpression) -> Iterator[str]:
        """The optimizer of a schedule, as the call that makes it is given that; nothing for what is none."""
        if self._roles.of(schedule).role == "scheduler":
            made = (value for value in self._roles.values(schedule) if isinstance(value, cst.Call))
            yield from (path_of(arg.value) for call in made for arg in call.args)

    def _may_wait(self, call: cst.Call, loop: cst.For | cst.While) -> bool:
        """Whether a schedule may advance on a condition, or the loop asks about steps that were skipped."""
        around = self._tree.enclosing(call, cst.If, cst.IfExp, *_LOOPS)
        asks = any(map(vocabulary.STEP_GATE.search, self._tree.words(loop.body)))
        return asks or (
            isinstance(around, (cst.If, cst.IfExp)) and "sync_gradients" not in self._tree.words(around.test)
        )


def _stepped(call: cst.Call) -> cst.BaseExpression | None:
    """What a call advances or steps without giving it anything; None for any other call."""
    steps = isinstance(call.func, cst.Attribute) and call.func.attr.value == "step" and not call.args
    return call.func.value if steps and isinstance(call.func, cst.Attribute) else None
