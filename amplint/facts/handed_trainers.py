"""Objects that step an optimizer through a scaler of their own, and hand themselves to others, which may save their state."""

from __future__ import annotations

import os
import re
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import stated_at, stated_in, trains
from amplint.facts.unsaved_scalers import UnsavedScalers
from amplint.file import File
from amplint.model.torch.names import GRAD_SCALER
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
        place = self._file.source.place
        if place is None or not any(self._file.names.references(GRAD_SCALER)):
            return frozenset()
        here = os.path.relpath(place.path, place.root)
        found: set[str] = set()
        for info in filter(self._is_handed_out, self._file.classes.own):
            for optimizer, step in self._scalers.steps(info):
                fact = trains(_WORDS.findall(info.name)[-1].lower(), optimizer)
                row = self._file.range(step).start.row
                found |= {stated_in(fact, str(place.path)), stated_at(fact, f"{here}:{row}")}
        return frozenset(found)

    def _is_handed_out(self, info: ClassInfo) -> bool:
        """Whether an object of a class gives itself to something: `callback.begin(self)`."""
        calls = (call for base in info.lineage for call in self._tree.inside(base.node, cst.Call))
        return any(
            path_of(arg.value) == "self"
            for call in calls
            if path_of(call.func) not in _KEEPS_TO_ITSELF
            for arg in call.args
        )
