"""Objects that step through a scaler, and whose classes inherit from another file how the progress is saved: without it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.resume_checkpoints import Checkpoints
from amplint.facts.save_helpers import SaveHelpers, states_taken
from amplint.facts.saving_calls import says_save, takes_state
from amplint.facts.scaler_checkpoints import steppers_of
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.roles.step_pairs import StepPair
from amplint.syntax.access_paths import called_name, displayed, path_of
from amplint.syntax.classes import ClassInfo
from amplint.syntax.nodes import is_reference, within


@frozen
class InheritedSaver:
    """A step through a scaler of an object, and the method of another file that saves this object's optimizer alone."""

    pair: StepPair
    saver: cst.FunctionDef


class InheritedSavers:
    """The methods by which the objects of one file's classes are saved, where these stand in another file."""

    def __init__(self, file: File) -> None:
        self._tree, self._classes, self._callees = file.tree, file.classes, file.callees
        self._helpers, self._checkpoints = file.fact(SaveHelpers), file.fact(Checkpoints)
        self._steppers = file.fact(steppers_of)

    @cached_property
    def found(self) -> tuple[InheritedSaver, ...]:
        """The first step of each class, in source order."""
        if not self._hands_on_what_is_saved() or self._checkpoints.scaler_states.keepers:
            return ()
        found: dict[ClassInfo, InheritedSaver] = {}
        for pair in self._steppers.pairs:
            info = self._classes.owner(pair.call) if path_of(pair.scaler).startswith("self.") else None
            saver = self._saver(info, path_of(pair.optimizer)) if info is not None and info not in found else None
            if info is not None and saver is not None and not self._is_told_there(info, saver, path_of(pair.scaler)):
                found[info] = InheritedSaver(pair, saver)
        told = {each.helper for each in self._checkpoints.incomplete}
        return tuple(each for each in found.values() if each.saver not in told)

    def _hands_on_what_is_saved(self) -> bool:
        """Whether a class gives a call anything that goes by a name whose state a method takes which it inherits."""
        taken: dict[int, frozenset[str]] = {}
        for info in self._classes.own:
            bases = info.lineage[1:]
            for base in (each for each in bases if id(each) not in taken):
                taken[id(base)] = self._taken(base)
            names = frozenset[str]().union(*(taken[id(base)] for base in bases))
            if names and self._gives(info, names.union(*(self._members(each, names) for each in (info, *bases)))):
                return True
        return False

    def _taken(self, base: ClassInfo) -> frozenset[str]:
        """What the methods of a class of another file take the state of."""
        if self._tree.root(base.node) is self._tree.module:
            return frozenset()
        taken: set[str] = set()
        for method in base.methods.values():
            calls = list(self._tree.inside(method, cst.Call))
            if any(map(takes_state, calls)):
                taken.update(states_taken(method))
            elif any(map(says_save, calls)):
                taken.update(self._helpers.taken(method))
        return frozenset(taken)

    def _members(self, info: ClassInfo, lists: frozenset[str]) -> frozenset[str]:
        """What a class puts into some lists."""
        kinds = (cst.Call, cst.Assign, cst.AugAssign)
        nodes = (node for kind in kinds for node in self._tree.inside(info.node, kind))
        return frozenset(member for node in nodes for owner, member in _put_into(node) if owner in lists)

    def _gives(self, info: ClassInfo, names: frozenset[str]) -> bool:
        given = (arg.value for call in self._tree.inside(info.node, cst.Call) for arg in call.args)
        return any(path_of(each) in names for each in given if is_reference(each))

    def _saver(self, info: ClassInfo, optimizer: str) -> cst.FunctionDef | None:
        """The inherited method that takes an optimizer's state, if one saves that, and none does that of a scaler."""
        methods = [method for base in info.lineage for method in base.methods.values()]
        if any(map(self._helpers.keeps_scaler, methods)) or not info.closed:
            return None
        abroad = (each for each in methods if self._tree.root(each) is not self._tree.module)
        inherited = [each for each in abroad if info.method(each.name.value) is each]
        put = (each for method in methods for node in within(method) for each in _put_into(node))
        names = {optimizer, *(owner for owner, member in put if member == optimizer)}
        takers = [each for each in inherited if not names.isdisjoint(states_taken(each))]
        savers = [each for each in inherited if vocabulary.SAVES.search(each.name.value)]
        if any(_takes_over(node) for each in (*takers, *savers) for node in within(each)):
            return None
        taken = (each for each in inherited if not names.isdisjoint(self._helpers.taken(each)))
        saved = any(says_save(node) for each in taken for node in within(each))
        if takers and (saved or self._is_given_away(info)):
            return takers[0]
        return next((each for each in inherited if self._saves_through_helper(each, names)), None)

    def _saves_through_helper(self, method: cst.FunctionDef, names: set[str]) -> bool:
        """Whether a method gives an optimizer to a helper that saves its state: `self.files.save(path, self.optimizer)`."""
        for call in self._tree.inside(method, cst.Call):
            given = {path_of(arg.value) for arg in call.args} if says_save(call) else set()
            callee = self._helpers.callee(call) if not names.isdisjoint(given) and "self" not in given else None
            if callee is not None and not self._helpers.keeps_scaler(callee.node):
                return any(path_of(each) in names for each in self._helpers.given(call, callee))
        return False

    def _is_told_there(self, info: ClassInfo, saver: cst.FunctionDef, scaler: str) -> bool:
        """Whether the file of an inherited method has the scaler and its steps before its eyes: it tells of the checkpoint."""
        there = self._tree.root(saver)
        made = any(self._tree.root(each) is there for each in info.values(scaler.removeprefix("self.")))
        methods = (method for base in info.lineage for method in base.methods.values())
        home = (method for method in methods if self._tree.root(method) is there)
        return made and any(
            isinstance(node, cst.Call) and path_of(node.func) == f"{scaler}.step"
            for method in home
            for node in within(method)
        )

    def _is_given_away(self, info: ClassInfo) -> bool:
        """Whether an object of a class is given to one that saves the states of what it is given."""
        given = (
            arg.value
            for call in self._tree.find(cst.Call)
            if vocabulary.SAVER.search(called_name(call))
            for arg in call.args
            if isinstance(arg.value, (cst.Name, cst.Attribute))
        )
        return any(self._callees.objects.class_of(each) is info for each in given)


def _put_into(node: cst.CSTNode) -> Iterator[tuple[str, str]]:
    """The lists that a node puts something into, each with that: by `append`, or as one of the elements that are shown."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="append")), args=[cst.Arg(value=added)]):
            yield path_of(owner), path_of(added)
        case (
            cst.Assign(targets=[cst.AssignTarget(target=owner)], value=cst.List() as shown)
            | cst.AugAssign(target=owner, value=cst.List() as shown)
        ):
            yield from ((path_of(owner), path_of(each)) for each in displayed(shown))


def _takes_over(node: cst.CSTNode) -> bool:
    """Whether a node adds all elements of something else to what may be saved: `{**extra}`, `state.update(extra)`."""
    return isinstance(node, cst.StarredDictElement) or called_name(node) == "update"
