"""Hooks of other files that one file makes for what steps through a scaler, and that are called back after each iteration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import calls_back, stated_at
from amplint.facts.hook_schedules import asks_for_steps, is_hook, iterations_of, scaler_steps
from amplint.facts.scaler_checkpoints import wrappers_of
from amplint.file import File
from amplint.model.torch.names import GRAD_SCALER
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
        place = self._file.source.place
        if place is None or not any(self._file.names.references(GRAD_SCALER)):
            return frozenset()
        found: set[str] = set()
        here = os.path.relpath(place.path, place.root)
        for call, info in self._made():
            fact = calls_back(self._tree.home(info.node).source.path, info.name)
            found |= {fact, stated_at(fact, f"{here}:{self._file.range(call).start.row}")}
        return frozenset(found)

    def _made(self) -> Iterator[tuple[cst.Call, ClassInfo]]:
        """The calls that make hooks of other files where an object steps through its scaler and nothing asks whether it did."""
        for call in self._tree.find(cst.Call):
            info = self._classes.instance_of(call)
            if info is None or self._tree.root(info.node) is self._tree.module or not is_hook(info):
                continue
            if any(iterations_of(info)) and self._steps_around(call):
                yield call, info

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
