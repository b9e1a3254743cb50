"""States of optimizers that a file saves, while an object whose class is in another file steps them, with a scaler of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import OptimizerStates, SavedState
from amplint.facts.save_helpers import SaveHelpers
from amplint.facts.scaler_checkpoints import steppers_of
from amplint.file import File
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.nodes import within


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
        self._objects, self._helpers = file.callees.objects, file.fact(SaveHelpers)
        self._states, self._steppers = file.fact(OptimizerStates), file.fact(steppers_of)

    @cached_property
    def found(self) -> tuple[SteppedAbroad, ...]:
        """The first state of each dict or file, in source order, where nothing in this file speaks of the scaler."""
        found: dict[int, SteppedAbroad] = {}
        for state in self._states.found:
            if state.saved and not state.open and self._steppers.of(state.optimizer) is None:
                for holder, info, attribute in self._holders(state.optimizer):
                    step = self._step(info, attribute)
                    if step is not None and not self._is_spoken_of(path_of(step.func).split(".")[1]):
                        scaler = path_of(step.func).removeprefix("self").removesuffix(".step")
                        found.setdefault(id(state.place), SteppedAbroad(state, step, holder + scaler))
        return tuple(found.values())

    def _holders(self, optimizer: cst.BaseExpression) -> Iterator[tuple[str, ClassInfo, str]]:
        """The objects that hold an optimizer: what names each, its class in another file, and the attribute."""
        if isinstance(optimizer, cst.Attribute):
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

    def _step(self, info: ClassInfo, attribute: str) -> cst.Call | None:
        """How the methods of a class step an optimizer of `self` with its enabled scaler, if none of them takes its state."""
        methods = [method for base in info.lineage for method in base.methods.values()]
        if not info.closed or any(map(self._helpers.keeps_scaler, methods)):
            return None
        for call in (node for method in methods for node in within(method) if isinstance(node, cst.Call)):
            owner = path_of(call.func).removesuffix(".step")
            stepped = path_of(call.args[0].value) if call.args else ""
            if owner != path_of(call.func) and stepped == f"self.{attribute}" and self._is_scaler(info, owner):
                return call
        return None

    def _is_scaler(self, info: ClassInfo, path: str) -> bool:
        """Whether all that a class assigns to an attribute of `self` is a scaler that is not disabled."""
        values = info.values(path.removeprefix("self.")) if path.startswith("self.") else []
        made = [self._roles.made_by(value) for value in values]
        return bool(made) and all(
            facts is not None and facts.role == "scaler" and facts.enabled != "no" for facts in made
        )

    def _is_spoken_of(self, scaler: str) -> bool:
        """Whether the file says the name of a scaler anywhere but in comments."""
        return re.search(rf"^[^#\n]*\b{re.escape(scaler)}\b", self._tree.source.text, re.MULTILINE) is not None


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
