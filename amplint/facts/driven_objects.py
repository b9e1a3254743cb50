"""Objects of unknown classes that a loop has step, and whose schedules it advances, by methods which it calls in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import in_turn
from amplint.facts.hook_schedules import ASKS
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of

_OPTIMIZES = re.compile(r"optimi[sz]e|train|step|backward|update")
"""What a method is called that runs one step of a training."""
_ADVANCES = re.compile(r"learning_rate|lr|sched")
"""What a method is called that advances schedules."""
_LOOPS = (cst.For, cst.While, cst.FunctionDef, cst.Lambda)


@frozen
class DrivenObject:
    """A call that advances the schedules of an object, the call that has the object step, and the fact that its class does so."""

    advance: cst.Call
    step: cst.Call
    needs: str


class DrivenObjects:
    """The objects that the loops of one file drive."""

    def __init__(self, file: File) -> None:
        self._tree, self._flow = file.tree, file.flow
        self._objects = file.callees.objects

    @cached_property
    def found(self) -> tuple[DrivenObject, ...]:
        """One for each call that advances, in source order, where nothing in the loop asks whether the step was taken."""
        names = sorted(filter(_ADVANCES.search, vocabulary.DRIVES))
        pairs = (pair for name in names for pair in self._flow.methods(name))
        driven = [each for call, owner in pairs for each in self._driven(call, owner)]
        return tuple(sorted(driven, key=lambda each: self._tree.order(each.advance)))

    def _driven(self, advance: cst.Call, owner: cst.BaseExpression) -> Iterator[DrivenObject]:
        loop, path, name = self._tree.enclosing(advance, *_LOOPS), path_of(owner), _method(advance)
        if path in ("", "self") or not isinstance(loop, (cst.For, cst.While)):
            return
        if self._objects.class_of(owner) is not None or any(map(ASKS.search, self._tree.words(loop))):
            return
        steps = [each for each in self._tree.inside(loop, cst.Call) if self._steps(each, path, loop)]
        if steps:
            yield DrivenObject(advance, steps[0], in_turn(_method(steps[0]), name))

    def _steps(self, call: cst.Call, path: str, loop: cst.CSTNode) -> bool:
        """Whether a call has the object of a path step, once in each iteration of a loop."""
        if not isinstance(call.func, cst.Attribute) or path_of(call.func.value) != path:
            return False
        name = _method(call)
        steps = _OPTIMIZES.search(name) is not None and _ADVANCES.search(name) is None
        return steps and self._tree.enclosing(call, *_LOOPS) is loop


def _method(call: cst.Call) -> str:
    return cst.ensure_type(call.func, cst.Attribute).attr.value
