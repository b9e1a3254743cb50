"""Objects that step through a scaler, and whose classes inherit from another file how the progress is saved: without it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import says_save
from amplint.facts.resume_checkpoints import Checkpoints
from amplint.facts.save_helpers import SaveHelpers, states_taken, takes_state
from amplint.facts.scaler_checkpoints import wrappers_of
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.roles.step_pairs import StepPair, Steppers
from amplint.syntax.access_paths import called_name, displayed, path_of
from amplint.syntax.classes import ClassInfo
from amplint.syntax.nodes import within


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
        self._steppers = Steppers(file.tree, file.roles, file.fact(wrappers_of))

    @cached_property
    def found(self) -> tuple[InheritedSaver, ...]:
        """The first step of each class, in source order."""
        if self._checkpoints.scaler_states.keepers or not self._inherits_savers():
            return ()
        found: dict[ClassInfo, InheritedSaver] = {}
        for pair in self._steppers.pairs:
            info = self._classes.owner(pair.call) if path_of(pair.scaler).startswith("self.") else None
            saver = self._saver(info, path_of(pair.optimizer)) if info is not None and info not in found else None
            if info is not None and saver is not None and not self._is_told_there(info, saver, path_of(pair.scaler)):
                found[info] = InheritedSaver(pair, saver)
        told = {each.helper for each in self._checkpoints.incomplete}
        return tuple(each for each in found.values() if each.saver not in told)

    def _inherits_savers(self) -> bool:
        """Whether a class inherits a method of another file that takes the state of something."""
        bases = {id(base): base for info in self._classes.own for base in info.lineage[1:]}
        abroad = [each for each in bases.values() if self._tree.root(each.node) is not self._tree.module]
        return any(
            takes_state(call)
            for each in abroad
            for method in each.methods.values()
            for call in self._tree.inside(method, cst.Call)
        )

    def _saver(self, info: ClassInfo, optimizer: str) -> cst.FunctionDef | None:
        """The inherited method that takes an optimizer's state, if one saves that, and none does that of a scaler."""
        methods = [method for base in info.lineage for method in base.methods.values()]
        if any(map(self._helpers.keeps_scaler, methods)) or not info.closed:
            return None
        abroad = (each for each in methods if self._tree.root(each) is not self._tree.module)
        inherited = [each for each in abroad if info.method(each.name.value) is each]
        names = {optimizer, *_lists(methods, optimizer)}
        takers = [each for each in inherited if not names.isdisjoint(states_taken(each))]
        savers = [each for each in inherited if vocabulary.SAVES.search(each.name.value)]
        if any(_takes_over(node) for each in (*takers, *savers) for node in within(each)):
            return None
        taken = (each for each in inherited if not names.isdisjoint(self._helpers.taken(each)))
        saved = any(says_save(node) for each in taken for node in within(each))
        return takers[0] if takers and (saved or self._is_given_away(info)) else None

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
        return any(self._callees.class_of(each) is info for each in given)


def _lists(methods: list[cst.FunctionDef], member: str) -> Iterator[str]:
    """The lists of an object that its methods put a member into: by `append`, or as one of the elements that are shown."""
    for node in (node for method in methods for node in within(method)):
        match node:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="append")), args=[cst.Arg(value=added)]):
                if path_of(added) == member:
                    yield path_of(owner)
            case (
                cst.Assign(targets=[cst.AssignTarget(target=owner)], value=cst.List() as shown)
                | cst.AugAssign(target=owner, value=cst.List() as shown)
            ):
                if member in map(path_of, displayed(shown)):
                    yield path_of(owner)


def _takes_over(node: cst.CSTNode) -> bool:
    """Whether a node adds all elements of something else to what may be saved: `{**extra}`, `state.update(extra)`."""
    return isinstance(node, cst.StarredDictElement) or called_name(node) == "update"
