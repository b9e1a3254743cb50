"""States of optimizers that a file saves, while an object whose class is in another file steps them, with a scaler of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import OptimizerStates, SavedState
from amplint.facts.scaler_checkpoints import steppers_of
from amplint.facts.unsaved_scalers import UnsavedScalers
from amplint.file import File
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.tree import Tree


@frozen
class SteppedAbroad:
    """The state of an optimizer, the call in another file that steps it, and the scaler as the file that saves reaches it."""

    state: SavedState
    step: cst.Call
    scaler: str


class StepsAbroad:
    """The optimizers of one file that objects step whose classes are in other files."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._classes = file.tree, file.roles, file.classes
        self._objects, self._unsaved = file.callees.objects, file.fact(UnsavedScalers)
        self._states, self._steppers = file.fact(OptimizerStates), file.fact(steppers_of)

    @cached_property
    def found(self) -> tuple[SteppedAbroad, ...]:
        """The first state of each dict or file, in source order, where nothing in this file speaks of the scaler."""
        found: dict[int, SteppedAbroad] = {}
        for state in self._states.found:
            if state.saved and not state.open and self._steppers.of(state.optimizer) is None:
                for holder, info, attribute in self._holders(state.optimizer):
                    step = next((call for name, call in self._unsaved.steps(info) if name == attribute), None)
                    if step is not None and not speaks_of(self._tree, path_of(step.func).split(".")[1]):
                        scaler = path_of(step.func).removeprefix("self").removesuffix(".step")
                        found.setdefault(id(state.place), SteppedAbroad(state, step, holder + scaler))
        return tuple(found.values())

    def _holders(self, optimizer: cst.BaseExpression) -> Iterator[tuple[str, ClassInfo, str]]:
        """The objects that hold an optimizer: what names each, its class in another file, and the attribute."""
        if isinstance(optimizer, cst.Attribute) and path_of(optimizer.value) == "self":
            own = self._classes.owner(optimizer)
            if own is not None and any(map(self._is_abroad, own.lineage[1:])):
                yield "self", own, optimizer.attr.value
        elif isinstance(optimizer, cst.Attribute):
            for holder in (optimizer.value, *self._steppers.flow.given(optimizer.value)):
                info = self._objects.class_of(holder)
                if info is not None and self._is_abroad(info):
                    yield path_of(optimizer.value), info, optimizer.attr.value
        elif isinstance(optimizer, cst.Name):
            yield from self._given_to(optimizer)

    def _given_to(self, optimizer: cst.Name) -> Iterator[tuple[str, ClassInfo, str]]:
        """The objects that the same function makes of an optimizer, and keeps."""
        for assign in self._tree.find(cst.Assign):
            made, named = assign.value, path_of(assign.targets[0].target)
            if (
                type(made) is not cst.Call
                or not named
                or self._tree.function(made) is not self._tree.function(optimizer)
            ):
                continue
            if all(path_of(arg.value) != optimizer.value for arg in made.args):
                continue
            info = self._classes.instance_of(made)
            if info is not None and self._is_abroad(info):
                yield from ((named, info, each) for each in _kept(info, made, optimizer.value))

    def _is_abroad(self, info: ClassInfo) -> bool:
        """Whether a class is in another file of the project; what a library steps, that saves."""
        own = self._tree.root(info.node) is self._tree.module
        return not own and not self._classes.libraries.is_of_wrapper(info.node)


def speaks_of(tree: Tree, name: str) -> bool:
    """Whether a file says a name anywhere but in comments.

    Args:
        tree: the file.
        name: the name, that of a scaler for instance.
    """
    return re.search(rf"^[^#\n]*\b{re.escape(name)}\b", tree.source.text, re.MULTILINE) is not None


def _kept(info: ClassInfo, made: cst.Call, optimizer: str) -> Iterator[str]:
    """The attributes that keep an optimizer which a call gives to the constructor."""
    init = info.method("__init__")
    if init is None:
        return
    given = {each.name.value: given_by(made, init, each.name.value) for each in params_of(init)}
    taken = {name for name, value in given.items() if value is not None and path_of(value) == optimizer}
    for base in info.lineage:
        for attribute, values in base.attributes.items():
            if any(path_of(value) in taken for value in values):
                yield attribute
