"""Classes that step through a scaler in one method and advance schedules in another, for scripts that call both in turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import in_turn
from amplint.facts.hook_schedules import asks_for_steps, scaler_steps
from amplint.facts.named_scalers import wrappers_of
from amplint.facts.stated_facts import stated_nearby
from amplint.file import File
from amplint.model import vocabulary
from amplint.syntax.access_paths import path_of
from amplint.syntax.class_info import ClassInfo

_MOST_CALLS = 3
"""From a method to another one of the same object, and so on, so many times."""


class DrivenClasses:
    """What one file states of its classes for scripts that get their objects from a factory."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._roles = file, file.tree, file.roles
        self._wrappers = file.fact(wrappers_of)

    @cached_property
    def stated(self) -> frozenset[str]:
        """The facts that methods of a class step, and that another one advances its schedules, whatever the scaler does."""
        return stated_nearby(self._file, self._shown())

    def _shown(self) -> Iterator[tuple[str, cst.Call]]:
        for info in self._file.classes.own:
            for advance in sorted(name for name in vocabulary.DRIVES if self._advances(info, name)):
                yield from ((in_turn(name, advance), step) for name, step in self._steps(info))

    def _steps(self, info: ClassInfo) -> Iterator[tuple[str, cst.Call]]:
        """The methods of a class in this file that step through its scaler, each with the step."""
        if any(asks_for_steps(self._tree, each.node) for each in info.lineage):
            return
        for name, method in info.methods.items():
            for reached in self._reached(info, method):
                for step in scaler_steps(self._tree, self._roles, reached):
                    scaler = path_of(step.func).removeprefix("self.").removesuffix(".step")
                    if self._wrappers.makes(info, scaler) and self._tree.root(step) is self._tree.module:
                        yield name, step

    def _advances(self, info: ClassInfo, name: str) -> bool:
        """Whether a method of a class advances schedules of its object."""
        method = info.method(name)
        reached = self._reached(info, method) if method is not None else ()
        return any(map(self._is_advance, (call for each in reached for call in self._tree.inside(each, cst.Call))))

    def _is_advance(self, call: cst.Call) -> bool:
        func = call.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "step" or call.args:
            return False
        return self._roles.of(func.value).role == "scheduler"

    def _reached(self, info: ClassInfo, method: cst.FunctionDef, calls: int = _MOST_CALLS) -> Iterator[cst.FunctionDef]:
        """A method, and the other ones of the same object that it calls."""
        yield method
        for call in self._tree.inside(method, cst.Call) if calls else ():
            this, _, name = path_of(call.func).partition(".")
            called = info.method(name) if this == "self" and name else None
            if called is not None and called is not method:
                yield from self._reached(info, called, calls - 1)
