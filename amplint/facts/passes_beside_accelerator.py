"""Backward passes that accelerate does not hear of, of losses whose gradients a prepared optimizer steps with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.preparations import LOOPS, Preparations, stepped
from amplint.file import File
from amplint.model.records import frozen
from amplint.roles.handed_out_optimizers import is_or_wraps_optimizer
from amplint.syntax.access_paths import path_of


@frozen
class PassBesideAccelerator:
    """A plain backward pass, the step of the prepared optimizer that takes its gradients, and the accelerator's `prepare`."""

    backward: cst.Call
    step: cst.Call
    preparing: cst.Call


class PassesBesideAccelerator:
    """Those of one file: the loop steps nothing but prepared optimizers, and no backward pass in it is the accelerator's."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._given = file.tree, file.roles, file.fact(Preparations)

    @cached_property
    def found(self) -> tuple[PassBesideAccelerator, ...]:
        """All of them, in source order."""
        return tuple(each for preparing in self._given.scaling for each in self._of(preparing))

    def _of(self, preparing: cst.Call) -> Iterator[PassBesideAccelerator]:
        home = self._tree.function(preparing) or self._tree.module
        prepared = {path for _, path in self._given.handed_back(preparing)}
        for loop in (*self._tree.inside(home, cst.For), *self._tree.inside(home, cst.While)):
            calls = [call for call in self._tree.inside(loop, cst.Call) if self._tree.enclosing(call, *LOOPS) is loop]
            steps = [(call, each) for call in calls if (each := stepped(call)) is not None]
            optimizers = [
                call for call, each in steps if path_of(each) in prepared and is_or_wraps_optimizer(self._roles, each)
            ]
            if not optimizers or any(path_of(each) not in prepared and self._takes(each) for _, each in steps):
                continue
            passes = [call for call in calls if _is_pass(call)]
            if not passes or not all(map(_is_plain, passes)) or "scale" in self._tree.words(loop):
                continue
            for call in passes:
                step = next((step for step in optimizers if self._stand_together(call, step)), None)
                if step is not None:
                    yield PassBesideAccelerator(call, step, preparing)

    def _takes(self, stepping: cst.BaseExpression) -> bool:
        """Whether what is stepped may take gradients: it is no schedule."""
        return self._roles.of(stepping).role != "scheduler"

    def _stand_together(self, backward: cst.Call, step: cst.Call) -> bool:
        """Whether no condition separates a backward pass from a step."""
        conditions = (cst.If, cst.IfExp, cst.Try, cst.Match, *LOOPS)
        return self._tree.enclosing(backward, *conditions) is self._tree.enclosing(step, *conditions)


def _is_pass(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in ("backward", "manual_backward")


def _is_plain(call: cst.Call) -> bool:
    """Whether a backward pass is that of a tensor with a name, from a gradient of one."""
    named = isinstance(call.func, cst.Attribute) and isinstance(call.func.value, (cst.Name, cst.Attribute))
    return named and all(arg.keyword is not None and arg.keyword.value != "gradient" for arg in call.args)
