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
from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name, path_of
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
        """Whether an object of a class is given to something: by itself (`callback.begin(self)`), or by what makes it
        (`manager.save(trainer)`)."""
        calls = (call for base in info.lineage for call in self._tree.inside(base.node, cst.Call))
        if any("self" in self._given(call) for call in calls):
            return True
        made = {name for name, call in self._made if called_name(call) == info.name}
        taken = {owner.partition(".")[0] for owner in self._states_taken if vocabulary.SCALER_STATE.search(owner)}
        kept = made - taken
        return bool(kept) and any(not kept.isdisjoint(self._given(call)) for call in self._tree.find(cst.Call))

    @cached_property
    def _states_taken(self) -> list[str]:
        """The paths of what has its state taken."""
        return [path_of(owner) for _, owner in self._file.flow.methods("state_dict")]

    @cached_property
    def _made(self) -> list[tuple[str, cst.Call]]:
        """The calls whose value gets a name, with that name."""
        assigns = [each for each in self._tree.find(cst.Assign) if type(each.value) is cst.Call]
        return [(path_of(each.targets[0].target), each.value) for each in assigns if isinstance(each.value, cst.Call)]

    @staticmethod
    def _given(call: cst.Call) -> set[str]:
        """The paths of what a call gives to something that may keep it."""
        return set() if path_of(call.func) in _KEEPS_TO_ITSELF else {path_of(arg.value) for arg in call.args} - {""}
