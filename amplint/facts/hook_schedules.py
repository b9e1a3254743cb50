"""Schedules that hooks advance after each iteration, of a trainer that may step through a scaler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.classes import ClassInfo

EACH_ITERATION = re.compile(r"^(after|on)_(train_)?(step|iter|iteration|batch|update)(_end)?$")
"""Methods of hooks that are called once for each iteration of a training, when it is over."""
_HOOK = re.compile(r"Hook|Callback")
_BRANCHES = (cst.If, cst.For, cst.While, cst.Try, cst.Match, cst.IfExp, cst.BooleanOperation, cst.Lambda)


@dataclass(frozen=True)
class HookSchedule:
    """A call that advances a schedule after each iteration, and the step of a scaler that the iteration takes."""

    advance: cst.Call
    step: cst.Call
    scaler: cst.BaseExpression


class HookSchedules:
    """The schedules that the hooks of one file advance; the trainer is where the hooks' base class comes from."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._classes, self._imports = file.tree, file.roles, file.classes, file.imports

    @cached_property
    def found(self) -> tuple[HookSchedule, ...]:
        """All of them, in source order."""
        return tuple(each for info in self._classes.own for each in self._of(info))

    def _of(self, info: ClassInfo) -> Iterator[HookSchedule]:
        for name, method in info.methods.items():
            if EACH_ITERATION.match(name) is None:
                continue
            steps = [step for root in self._homes(info) for step in self._scaler_steps(root)]
            for call in self._tree.inside(method, cst.Call) if steps else ():
                if self._advances(call, method):
                    yield HookSchedule(call, steps[0], _receiver(steps[0]))

    def _homes(self, info: ClassInfo) -> Iterator[cst.Module]:
        """The files of the project that the bases of a hook come from; of one that hands others on, those behind it."""
        for name in sorted(info.base_names):
            if _HOOK.search(name.rpartition(".")[2]) is None:
                continue
            if any(base.name == name.rpartition(".")[2] for base in info.bases if base in self._classes.own):
                yield self._tree.module
            homes = self._imports.homes(name)
            yield from (home for home in homes if not self._classes.libraries.is_of_wrapper(home))

    def _scaler_steps(self, root: cst.Module) -> Iterator[cst.Call]:
        """The steps that objects in a file take through a scaler of theirs."""
        for call in self._tree.find(cst.Call, around=root):
            match call:
                case cst.Call(func=cst.Attribute(value=scaler, attr=cst.Name(value="step")), args=[_]):
                    facts = self._roles.of(scaler)
                    if path_of(scaler).startswith("self.") and facts.role == "scaler" and facts.enabled != "no":
                        yield call

    def _advances(self, call: cst.Call, method: cst.FunctionDef) -> bool:
        """Whether a call advances a schedule whenever its method is called."""
        if not isinstance(call.func, cst.Attribute) or call.args or call.func.attr.value != "step":
            return False
        if self._roles.of(call.func.value).role != "scheduler":
            return False
        early = any(self._tree.order(each) < self._tree.order(call) for each in self._tree.inside(method, cst.Return))
        around = self._tree.enclosing(call, *_BRANCHES, cst.FunctionDef)
        if isinstance(around, cst.If) and _asks_for(around.test, path_of(call.func.value)):
            around = self._tree.enclosing(around, *_BRANCHES, cst.FunctionDef)
        return not early and around is method


def _asks_for(test: cst.BaseExpression, path: str) -> bool:
    """Whether a condition asks nothing but whether there is an object (`if self.scheduler is not None`)."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.IsNot(), cst.Name("None"))]):
            return path_of(left) == path
    return path_of(test) == path


def _receiver(call: cst.Call) -> cst.BaseExpression:
    assert isinstance(call.func, cst.Attribute)
    return call.func.value
