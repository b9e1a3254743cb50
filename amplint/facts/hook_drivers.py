"""Hooks that one file makes for what steps through a scaler, or calls back after such a step, in each iteration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain

import libcst as cst

from amplint.facts.driving_facts import calls_back
from amplint.facts.hook_schedules import EACH_ITERATION, asks_for_steps, is_hook, iterations_of, scaler_steps
from amplint.facts.named_scalers import wrappers_of
from amplint.facts.stated_facts import stated_nearby
from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.classes import ClassInfo


class HookDrivers:
    """What one file states of the hooks of other files."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._classes = file, file.tree, file.classes
        self._wrappers = file.fact(wrappers_of)

    @cached_property
    def stated(self) -> frozenset[str]:
        """The facts that it calls hooks of such classes back, and where it makes them."""
        calls = ((calls_back(method), call) for call, method in chain(self._made(), self._called()))
        return stated_nearby(self._file, calls)

    def _made(self) -> Iterator[tuple[cst.Call, str]]:
        """The calls that make hooks of other files where an object steps through its scaler and nothing asks whether it did, with
        the methods of these hooks that are called after each iteration."""
        for call in self._tree.find(cst.Call):
            info = self._classes.instance_of(call)
            if info is None or self._tree.root(info.node) is self._tree.module or not is_hook(info):
                continue
            if self._steps_around(call):
                yield from ((call, method.name.value) for method in iterations_of(info))

    def _called(self) -> Iterator[tuple[cst.Call, str]]:
        """The calls of such methods by an object that steps so."""
        for info in filter(self._steps, self._classes.own):
            for call in self._tree.inside(info.node, cst.Call):
                func = call.func
                if (
                    isinstance(func, cst.Attribute)
                    and EACH_ITERATION.match(func.attr.value)
                    and path_of(func.value) != "self"
                ):
                    yield call, func.attr.value

    def _steps_around(self, call: cst.Call) -> bool:
        """Whether the object that makes a hook steps so; outside of classes, whether one of the file does."""
        owner = self._classes.owner(call)
        return any(map(self._steps, [owner] if owner is not None else self._classes.own))

    def _steps(self, info: ClassInfo) -> bool:
        parts = [each.node for each in info.lineage]
        if any(asks_for_steps(self._tree, each) for each in (self._tree.module, *parts)):
            return False
        steps = (step for each in parts for step in scaler_steps(self._tree, self._file.roles, each))
        return any(
            self._wrappers.makes(info, path_of(step.func).removeprefix("self.").removesuffix(".step")) for step in steps
        )
