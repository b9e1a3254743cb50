"""Objects that step an optimizer through a scaler of their own, and hand themselves to others, which may save their state; and
hooks that step that of a trainer so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import trains
from amplint.facts.stated_facts import stated_nearby
from amplint.facts.unsaved_scalers import UnsavedScalers
from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.class_info import ClassInfo

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_KEEPS_TO_ITSELF = frozenset(
    "super isinstance issubclass hasattr getattr setattr type id len str repr print vars".split()
)
"""Functions that keep no object which they are given."""


class HandedTrainers:
    """What one file states of its trainers for files that are given one of them."""

    def __init__(self, file: File) -> None:
        self._file, self._tree = file, file.tree
        self._scalers = file.fact(UnsavedScalers)

    @cached_property
    def stated(self) -> frozenset[str]:
        """The facts that a trainer steps some optimizer of its own so: `Trainer` is what others call `trainer`."""
        return stated_nearby(self._file, self._shown())

    def _shown(self) -> Iterator[tuple[str, cst.Call]]:
        for info in filter(self._is_handed_out, self._file.classes.own):
            for optimizer, step in self._scalers.steps(info):
                yield trains(_WORDS.findall(info.name)[-1].lower(), optimizer), step

        for info in self._file.classes.own:
            for holder, optimizer, step in self._scalers.steps_of_given(info):
                yield trains(holder.strip("_").lower(), optimizer), step

    def _is_handed_out(self, info: ClassInfo) -> bool:
        """Whether an object of a class gives itself to something: `callback.begin(self)`."""
        calls = (call for base in info.lineage for call in self._tree.inside(base.node, cst.Call))
        return any(
            path_of(arg.value) == "self"
            for call in calls
            if path_of(call.func) not in _KEEPS_TO_ITSELF
            for arg in call.args
        )
