"""Schedules that hooks advance after each iteration, of a trainer that may step through a scaler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import calls_back
from amplint.file import File
from amplint.model.records import frozen
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import path_of
from amplint.syntax.classes import ClassInfo
from amplint.syntax.tree import Tree

EACH_ITERATION = re.compile(r"^(after|on)_(train_)?(step|iter|iteration|batch|update)(_end)?$")
"""Methods of hooks that are called once for each iteration of a training, when it is over."""
_HOOK = re.compile(r"Hook|Callback")
ASKS = re.compile(r"skip|_scale$|finite|found_inf")
"""Words of what asks whether a step was taken."""
_BRANCHES = (cst.If, cst.For, cst.While, cst.Try, cst.Match, cst.IfExp, cst.BooleanOperation, cst.Lambda)


@frozen
class HookSchedule:
    """A call that advances a schedule after each iteration, and the step of a scaler that the iteration takes.

    Where no file that this one knows takes such a step, `driver` is the fact that another file does, and calls the hook back.
    """

    advance: cst.Call
    step: cst.Call | None
    driver: str = ""


class HookSchedules:
    """The schedules that the hooks of one file advance; the trainer is where the hooks' base class comes from."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._classes, self._imports = file.tree, file.roles, file.classes, file.imports

    @cached_property
    def found(self) -> tuple[HookSchedule, ...]:
        """All of them, in source order."""
        return tuple(each for info in self._classes.own for each in self._of(info))

    def _of(self, info: ClassInfo) -> Iterator[HookSchedule]:
        for method in iterations_of(info):
            steps = [step for root in self._homes(info) for step in scaler_steps(self._tree, self._roles, root)]
            driver = "" if steps else self._driver(info, method)
            for call in self._tree.inside(method, cst.Call) if steps or driver else ():
                if self._advances(call, method):
                    yield HookSchedule(call, steps[0] if steps else None, driver)

    def _driver(self, info: ClassInfo, method: cst.FunctionDef) -> str:
        """The fact that another file calls back a method of a hook after a scaler's step; empty for a library's hooks."""
        if not is_hook(info) or info in self._classes.undriven:
            return ""
        return calls_back(method.name.value)

    def _homes(self, info: ClassInfo) -> Iterator[cst.Module]:
        """The files of the project that the bases of a hook come from; of one that hands others on, those behind it."""
        for name in sorted(info.base_names):
            if _HOOK.search(name.rpartition(".")[2]) is None:
                continue
            if any(base.name == name.rpartition(".")[2] for base in info.bases if base in self._classes.own):
                yield self._tree.module
            homes = self._imports.homes(name)
            yield from (home for home in homes if not self._classes.libraries.is_of_wrapper(home))

    def _advances(self, call: cst.Call, method: cst.FunctionDef) -> bool:
        """Whether a call advances a schedule whenever its method is called."""
        if not isinstance(call.func, cst.Attribute) or call.args or call.func.attr.value != "step":
            return False
        schedule = call.func.value
        kept = schedule.value if isinstance(schedule, cst.Subscript) else schedule  # `schedulers["warmup"]`
        if "scheduler" not in (self._roles.of(schedule).role, self._roles.of(kept).role):
            return False
        early = any(self._tree.order(each) < self._tree.order(call) for each in self._tree.inside(method, cst.Return))
        around = self._tree.enclosing(call, *_BRANCHES, cst.FunctionDef)
        while isinstance(around, cst.If) and (
            _asks_for(around.test, path_of(schedule))
            or (_is_early(around.test) and around.body in self._tree.ancestors(call))
        ):
            around = self._tree.enclosing(around, *_BRANCHES, cst.FunctionDef)
        return not early and around is method


def _asks_for(test: cst.BaseExpression, path: str) -> bool:
    """Whether a condition asks nothing but whether there is an object (`if self.scheduler is not None`)."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.IsNot(), cst.Name("None"))]):
            return path_of(left) == path
    return path_of(test) == path


def _is_early(test: cst.BaseExpression) -> bool:
    """Whether a condition asks nothing but whether a count is still below another one: `self.trainer.iter < self.warmup`."""
    match test:
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(cst.LessThan() | cst.LessThanEqual(), comparator=right)]
        ):
            return path_of(left) != "" and path_of(right) != "" and ASKS.search(path_of(left)) is None
    return False


def is_hook(info: ClassInfo) -> bool:
    """Whether a class is one of hooks or callbacks, by its name or that of a base."""
    bases = (path_of(each.value) for each in info.node.bases if each.keyword is None)
    return any(_HOOK.search(name.rpartition(".")[2]) for name in (info.name, *bases))


def iterations_of(info: ClassInfo) -> Iterator[cst.FunctionDef]:
    """The methods of a hook's class that are called when an iteration is over."""
    yield from (method for name, method in info.methods.items() if EACH_ITERATION.match(name))


def scaler_steps(tree: Tree, roles: Roles, around: cst.CSTNode) -> Iterator[cst.Call]:
    """The steps that objects take through a scaler of theirs, below a node.

    Args:
        tree: the file, with those that it leads to.
        roles: what its objects are.
        around: a class, or a file.
    """
    for call in tree.inside(around, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(value=scaler, attr=cst.Name(value="step")), args=[_]):
                facts = roles.of(scaler)
                if path_of(scaler).startswith("self.") and facts.role == "scaler" and facts.enabled != "no":
                    yield call


def asks_for_steps(tree: Tree, around: cst.CSTNode) -> bool:
    """Whether anything below a node asks whether a step was taken, so that what is called back may depend on it.

    Args:
        tree: the file, with those that it leads to.
        around: a class, or a file.
    """
    comparisons = tree.inside(around, cst.Comparison)
    return any(map(ASKS.search, (word for each in comparisons for word in tree.words(each))))
