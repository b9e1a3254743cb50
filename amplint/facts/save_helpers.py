"""Helpers and objects that save the states of what they are given: functions, methods, and savers that keep an optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

import libcst as cst

from amplint.facts.saving_calls import is_for_saving, says_save, takes_state, tells_saver
from amplint.facts.scaler_checkpoints import ScalerStates, held_objects_of
from amplint.file import File
from amplint.model import vocabulary
from amplint.roles.call_targets import Callee
from amplint.syntax.access_paths import called_name, displayed, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.loop_elements import paired
from amplint.syntax.nodes import within

_MAX_DEPTH = 3
"""From a helper to one that it calls, so many times."""
_DISPLAYS = (cst.Dict, cst.List, cst.Tuple)


class SaveHelpers:
    """What the helpers that one file calls save, however deep they lie."""

    def __init__(self, file: File) -> None:
        self._tree, self._callees, self._classes = file.tree, file.callees, file.classes
        self._roles, self._flow = file.roles, file.flow
        self._scaler_states, self._held = file.fact(ScalerStates), file.fact(held_objects_of)
        self._taken: dict[cst.FunctionDef, tuple[str, ...]] = {}

    def callee(self, call: cst.Call) -> Callee | None:
        """The function that a call runs, if its name says that it saves something, or that of its object."""
        return self._callees.of(call, wherever=True) if says_save(call) or tells_saver(call) else None

    def _followed(self, call: cst.Call) -> Callee | None:
        """The function in which a helper saves what it is given, or gathers it: another method of its object may do that."""
        is_own = isinstance(call.func, cst.Attribute) and path_of(call.func.value) == "self"
        return self.callee(call) or (self._callees.of(call, wherever=True) if is_own else None)

    def savers(self) -> Iterator[tuple[cst.Call, Callee]]:
        """The calls that make an object of another file for saving, on which nothing in this file calls a method to save."""
        for call in self._tree.find(cst.Call):
            info = self._classes.instance_of(call) if is_for_saving(call) else None
            statement = self._tree.parent(call)
            names = [path_of(each) for each in targets(statement)] if statement is not None else []
            kept = names[0] if len(names) == 1 else ""
            if info is None or self._tree.root(info.node) is self._tree.module:
                continue
            if not kept and not isinstance(statement, (cst.Arg, cst.Expr)):
                continue
            if not any(says_save(use) for use, on in self._calls_on_objects if path_of(on) == kept):
                methods = {name: method for each in reversed(info.lineage) for name, method in each.methods.items()}
                yield from (
                    (call, Callee("", method, kept, call))
                    for name, method in methods.items()
                    if vocabulary.SAVES.search(name) or any(map(says_save, within(method)))
                )

    @cached_property
    def _calls_on_objects(self) -> list[tuple[cst.Call, cst.BaseExpression]]:
        return [(call, call.func.value) for call in self._tree.find(cst.Call) if isinstance(call.func, cst.Attribute)]

    def taken(self, function: cst.FunctionDef) -> tuple[str, ...]:
        """The parameters and attributes of `self` whose state a function takes, or one that it calls to save them."""
        if function not in self._taken:
            self._taken[function] = ()  # stands while it is worked out: a function may call itself
            self._taken[function] = tuple(dict.fromkeys(self._takes(function)))
        return self._taken[function]

    def keeps_scaler(self, function: cst.FunctionDef) -> bool:
        """Whether a function puts the state of a scaler somewhere, or one that it calls to save something."""
        return any(map(self._scaler_states.kept_by, (function, *self._below(function))))

    def given(self, call: cst.Call, callee: Callee) -> Iterator[cst.BaseExpression]:
        """The objects, seen from a call of a helper, whose states that takes.

        Args:
            call: the call.
            callee: the helper that it runs.
        """
        for path in self.taken(callee.node):
            if path.startswith("self."):
                found = self._kept(path.removeprefix("self."), call, callee)
            else:
                found = self._argument(call, callee.node, path)
            for node in found:
                for member in self.members(node):
                    yield from self._chosen(member)

    def members(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The elements of the dict, or the list, that an expression is or names; else the expression itself, as for an element
        without a name.

        What is put into it under further keys counts.
        """
        shown = [each for value in self._flow.meant(node) for each in displayed(value) if isinstance(value, _DISPLAYS)]
        put = self._flow.put(path_of(node), node) if shown and path_of(node) else ()
        held = [each if path_of(each) else node for each in (*shown, *(value for _, value in put))]
        return list(dict.fromkeys(held)) or [node]

    def goes_through(self, function: cst.FunctionDef) -> bool:
        """Whether a function takes the states of all that it, or its object, is given in a dict or a list."""
        taken = {path.partition(".")[0] for path in self.taken(function)}
        rest = function.params.star_kwarg
        names = {each.name.value for each in (*params_of(function), *([rest] if rest is not None else []))}
        kept = (path for path in self.taken(function) if path.startswith("self."))
        return not {through for _, through in _loops(function)}.isdisjoint({*(taken & names), *kept})

    # -- inside ----------------------------------------------------------------------------------------------------

    def _chosen(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """An argument, and what it may be if a condition chooses: `optimizer if options.whole else None`, or a name for that."""
        yield node
        values = self._roles.values(node) if isinstance(node, cst.Name) else [node]
        for choice in values:
            if isinstance(choice, cst.IfExp):
                yield from (choice.body, choice.orelse)

    def _takes(self, function: cst.FunctionDef) -> Iterator[str]:
        yield from states_taken(function)
        for node in within(function):
            callee = self._followed(node) if type(node) is cst.Call and not takes_state(node) else None
            if callee is not None and isinstance(node, cst.Call):
                inner = self.taken(callee.node)
                yield from (outer for path in inner if (outer := _seen_outside(path, node, callee)))

    def _below(self, function: cst.FunctionDef) -> Iterator[cst.FunctionDef]:
        """The functions that a function calls to save or gather something, and those that they call."""
        waiting = [function]
        for _ in range(_MAX_DEPTH):
            calls = [node for each in waiting for node in within(each) if type(node) is cst.Call]
            waiting = [callee.node for call in calls if (callee := self._followed(call)) is not None]
            yield from waiting

    def _kept(self, attribute: str, call: cst.Call, callee: Callee) -> Iterator[cst.BaseExpression]:
        """What a call calls an attribute of the object whose method it runs, and what that was given for it when it was made."""
        if callee.receiver not in (None, "self"):
            yield from self._mentioned(f"{callee.receiver}.{attribute}", call)
        info = self._classes.owner(callee.node)
        if info is None or callee.made is None:
            return
        init = (self._classes.instance_of(callee.made) or info).method("__init__")
        attribute, _, part = attribute.partition(".")
        for value in map(_copied, info.values(attribute)):
            if isinstance(value, cst.Name) and init is not None:
                yield from self._argument(callee.made, init, f"{value.value}.{part}" if part else value.value)

    def _argument(self, call: cst.Call, function: cst.FunctionDef, path: str) -> Iterator[cst.BaseExpression]:
        """What a call gives for a parameter, or what an attribute of it is there: `self.optimizer` of `save(self)`; for an
        element too, what is held under its key."""
        name = re.split(r"\W", path, maxsplit=1)[0]
        part = path.removeprefix(name)
        for given in _argument(call, function, name):
            if not part:
                yield given
            elif mentioned := list(self._mentioned(f"{path_of(given)}{part}", call)):
                yield from mentioned
            else:
                yield from self._held.part(given, part.strip(".[]"))

    def _mentioned(self, path: str, call: cst.Call) -> Iterator[cst.BaseExpression]:
        """The first mention of an attribute in the class, or else the function, around a call."""
        around = self._tree.enclosing(call, cst.ClassDef if path.startswith("self.") else cst.FunctionDef)
        mentions = self._tree.find(cst.Attribute, around=around) if around is not None else ()
        yield from islice((each for each in mentions if path_of(each) == path), 1)


def states_taken(function: cst.FunctionDef) -> Iterator[str]:
    """The paths of the objects whose states a function takes itself; for the elements of something, the path of that."""
    members = dict(_loops(function))
    for node in within(function):
        if type(node) is cst.Call and takes_state(node) and type(node.func) is cst.Attribute:
            path = path_of(_indexed(node.func.value, members))
            yield members.get(path, path)


def _loops(function: cst.FunctionDef) -> Iterator[tuple[str, str]]:
    """The loop variables of a function, each with what it goes through."""
    for node in within(function):
        if type(node) is cst.For or type(node) is cst.CompFor:
            for target, through in paired(node.target, node.iter):
                if isinstance(through, cst.Call) and isinstance(through.func, cst.Attribute):
                    through = through.func.value  # `.keys()`
                yield target.value, path_of(through)


def _indexed(owner: cst.BaseExpression, members: Mapping[str, str]) -> cst.BaseExpression:
    """What an element is one of if a loop goes through that: of `objects[name]`, where `name` is from `objects`; else itself."""
    match owner:
        case cst.Subscript(value=whole, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=name)))]):
            return whole if members.get(name) == path_of(whole) else owner
    return owner


def _copied(value: cst.BaseExpression) -> cst.BaseExpression:
    """What a value is a copy of (`dict(objects)`, `{**objects}`); itself if it is none."""
    match value:
        case cst.Call(args=[cst.Arg(value=original, keyword=None)]) if called_name(value) in ("dict", "list", "copy"):
            return original
        case cst.Dict(elements=[cst.StarredDictElement(value=original)]):
            return original
    return value


def _seen_outside(path: str, call: cst.Call, callee: Callee) -> str:
    """What a function that makes a call calls the object that is `path` to the function which it runs; empty for nothing."""
    if path.startswith("self."):
        return path if callee.receiver == "self" else ""
    name, _, part = path.partition(".")
    given = next(_argument(call, callee.node, name), None)
    whole = path_of(given) if given is not None else ""
    return f"{whole}.{part}" if whole and part else whole


def _argument(call: cst.Call, function: cst.FunctionDef, name: str) -> Iterator[cst.BaseExpression]:
    """What a call gives for a parameter, or for one of those that a function takes as `**name`."""
    rest = function.params.star_kwarg
    if rest is not None and rest.name.value == name:
        named = {each.name.value for each in params_of(function)}
        yield from (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value not in named)
    elif (given := given_by(call, function, name)) is not None:
        yield given
