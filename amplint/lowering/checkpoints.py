"""Checkpoints to resume from: where the state of optimizers is put to be saved, and whether that of their scaler is, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.lowering.analysis import Analysis
from amplint.lowering.names import Names
from amplint.lowering.optimizer_states import OptimizerStates, State, says_save
from amplint.lowering.roles import Roles, path_of
from amplint.lowering.tree import Tree, within

_SAYS_SCALER = re.compile(r"scaler|(^|[_.])amp(_|$)|grad_?scale", re.IGNORECASE)
_FUNCTIONS = (cst.FunctionDef, cst.Lambda)
_MAX_CALLERS = 3


@dataclass(frozen=True)
class Stepped:
    """A scaler and an optimizer that it steps, or that it is handed on with, by `call`."""

    scaler: cst.BaseExpression
    optimizer: cst.BaseExpression
    call: cst.Call


@dataclass(frozen=True)
class Incomplete:
    """A checkpoint with the state of an optimizer, and without that of the scaler that steps it.

    `place` is the dict, the key or the call that puts the optimizer's state there. `state` is None where a helper takes it,
    and `parameter` then that which this helper has for the scaler, if it has one.
    """

    place: cst.BaseExpression
    pair: Stepped
    state: State | None = None
    parameter: str = ""


class Checkpoints:
    """The checkpoints of one file."""

    def __init__(self, analysis: Analysis) -> None:
        self._program = analysis.program
        self._tree: Tree = analysis.program.tree
        self._names: Names = analysis.program.names
        self._roles: Roles = analysis.program.roles

    @cached_property
    def incomplete(self) -> tuple[Incomplete, ...]:
        """Those that lack the state of an enabled scaler, in source order."""
        if not self._pairs:
            return ()
        found: dict[tuple[object, ...], Incomplete] = {}
        for each in (*self._taken(), *self._left_out()):
            found.setdefault(self._checkpoint(each), each)
        return tuple(sorted(found.values(), key=lambda each: self._tree.order(each.place)))

    def _checkpoint(self, each: Incomplete) -> tuple[object, ...]:
        """What makes several places one checkpoint: a dict, or what one function saves."""
        home = self._tree.enclosing(each.place, *_FUNCTIONS)
        return (home, each.state.container) if each.state is not None and each.state.container else (id(each.place),)

    # -- who steps what --------------------------------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> list[Stepped]:
        return [pair for call in self._tree.find(cst.Call) for pair in self._stepped(call)]

    def _stepped(self, call: cst.Call) -> Iterator[Stepped]:
        given = [arg.value for arg in call.args if isinstance(arg.value, (cst.Name, cst.Attribute, cst.Subscript))]
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "step" and given:
            if self._is_scaler(call.func.value):
                yield Stepped(call.func.value, given[0], call)
            return
        scalers = [each for each in given if self._is_scaler(each)]
        optimizers = [each for each in given if scalers and self._roles.of(each).role == "optimizer"]
        yield from (Stepped(scaler, optimizer, call) for scaler in scalers[:1] for optimizer in optimizers)

    def _is_scaler(self, node: cst.BaseExpression) -> bool:
        facts = self._roles.of(node)
        return facts.role == "scaler" and facts.enabled != "no"

    def _stepper(self, optimizer: cst.BaseExpression, depth: int = 0) -> Stepped | None:
        """How an optimizer is stepped through a scaler, if it is."""
        values = {id(value) for value in self._roles.values(optimizer)}
        path = path_of(optimizer)
        for pair in self._pairs:
            others = {id(value) for value in self._roles.values(pair.optimizer)}
            same = bool(values & others) if values and others else _last(path) == _last(path_of(pair.optimizer))
            if path and same:
                return pair
        if depth < _MAX_CALLERS and isinstance(optimizer, cst.Name):
            steppers = (self._stepper(given, depth + 1) for given in self._arguments(optimizer))
            return next((each for each in steppers if each is not None), None)
        return None

    def _arguments(self, name: cst.Name) -> Iterator[cst.BaseExpression]:
        """What the calls in this file give for a parameter."""
        home = self._tree.enclosing(name, cst.FunctionDef)
        if isinstance(home, cst.FunctionDef):
            for call in self._callers(home):
                given = self.argument(call, home, name.value)
                if given is not None:
                    yield given

    @staticmethod
    def argument(call: cst.Call, function: cst.FunctionDef, name: str) -> cst.BaseExpression | None:
        """What a call gives for a parameter of the function that it runs."""
        params = [each.name.value for each in (*function.params.posonly_params, *function.params.params)]
        free = iter(params[1:] if params[:1] in (["self"], ["cls"]) else params)
        for arg in call.args:
            if arg.star:
                return None
            if (arg.keyword.value if arg.keyword is not None else next(free, "")) == name:
                return arg.value
        return None

    # -- what is kept ----------------------------------------------------------------------------------------------

    @cached_property
    def _states(self) -> list[State]:
        return OptimizerStates(self._tree, self._names, self._roles).found

    def _taken(self) -> Iterator[Incomplete]:
        """Checkpoints that are put together in this file."""
        takers = {self._tree.enclosing(each.place, *_FUNCTIONS) for each in self._states}
        if any(home not in takers for home in self._keepers):
            return  # the scaler's state has a place of its own
        for state in self._states:
            pair = self._stepper(state.optimizer)
            if pair is None or state.open or not self._is_held(pair.scaler, state):
                continue
            if self._is_saved(state) and not self._is_kept_with(state):
                yield Incomplete(state.place, pair, state)

    def _is_held(self, scaler: cst.BaseExpression, state: State) -> bool:
        """Whether a scaler is made in this file, or known where the checkpoint is put together: else its owner may save it."""
        if path_of(scaler).startswith("self."):
            return True
        given = self._tree.enclosing(scaler, cst.FunctionDef)
        made = any(self._roles.made_by(value) is not None for value in self._roles.values(scaler))
        return made or given is None or given in self._tree.ancestors(state.place)

    def _is_saved(self, state: State) -> bool:
        """Whether a state is saved: where it is taken, or by those that get it from there."""
        if state.saved or not state.returned:
            return state.saved
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        if not isinstance(home, cst.FunctionDef):
            return False
        return any(self._saves(self._tree.enclosing(call, cst.FunctionDef)) for call in self._callers(home))

    def _saves(self, function: cst.CSTNode | None) -> bool:
        inside = within(function) if function is not None else self._tree.find(cst.Call)
        return any(isinstance(node, cst.Call) and says_save(node) for node in inside)

    def _is_kept_with(self, state: State) -> bool:
        """Whether the scaler's state is kept by the same function, by one that it calls, or by one that calls it."""
        home = self._tree.enclosing(state.place, cst.FunctionDef)
        group: list[cst.CSTNode | None] = [home]
        if home is not None:
            group.append(self._tree.enclosing(home, cst.FunctionDef))
        for _ in range(_MAX_CALLERS):
            callers = [call for each in group if isinstance(each, cst.FunctionDef) for call in self._callers(each)]
            group.extend({self._tree.enclosing(call, cst.FunctionDef) for call in callers} - set(group))
        for call in self._tree.find(cst.Call):
            if home is not None and home in self._tree.ancestors(call) and self._hands_on(call, state):
                callee = self._callee(call)
                group.append(callee)
                if callee is not None and self._keeps(callee):
                    return True
        return any(each in self._keepers for each in group)

    @staticmethod
    def _hands_on(call: cst.Call, state: State) -> bool:
        return says_save(call) or any(path_of(arg.value) == state.container != "" for arg in call.args)

    @cached_property
    def _keepers(self) -> set[cst.CSTNode | None]:
        """The functions (None: the module) that put the state of a scaler somewhere."""
        nodes = [*self._tree.find(cst.Call), *self._tree.find(cst.DictElement), *self._tree.find(cst.Subscript)]
        return {self._tree.enclosing(node, *_FUNCTIONS) for node in nodes if self._is_kept_by(node)}

    def _keeps(self, function: cst.FunctionDef) -> bool:
        return any(self._is_kept_by(node) for node in within(function))

    def _is_kept_by(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.DictElement):
            return _says_scaler(node.key) or self._names_scaler(node.value)
        if isinstance(node, cst.Subscript):
            above = self._tree.parent(node)
            return isinstance(above, cst.AssignTarget) and any(
                _says_scaler(each.slice.value) for each in node.slice if isinstance(each.slice, cst.Index)
            )
        if not isinstance(node, cst.Call):
            return False
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "state_dict":
            return self._names_scaler(node.func.value)
        is_dict = path_of(node.func) == "dict" or says_save(node)
        return is_dict and any(
            self._names_scaler(arg.value) or (arg.keyword is not None and _SAYS_SCALER.search(arg.keyword.value))
            for arg in node.args
        )

    def _names_scaler(self, node: cst.BaseExpression) -> bool:
        named = isinstance(node, (cst.Name, cst.Attribute, cst.Subscript))
        return named and (self._roles.of(node).role == "scaler" or _SAYS_SCALER.search(path_of(node)) is not None)

    # -- what is loaded --------------------------------------------------------------------------------------------

    @cached_property
    def _loads(self) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The calls of `load_state_dict`, with what they are called on."""
        calls = [call for call in self._tree.find(cst.Call) if isinstance(call.func, cst.Attribute) and call.args]
        return [
            (call, call.func.value)
            for call in calls
            if isinstance(call.func, cst.Attribute) and call.func.attr.value == "load_state_dict"
        ]

    @property
    def loads_scaler(self) -> bool:
        """Whether the file loads the state of a scaler."""
        return any(self._names_scaler(owner) for _, owner in self._loads)

    @property
    def scaler_key(self) -> str:
        """The key from which the file loads the state of a scaler; empty when that cannot be told."""
        keys = {_key(call.args[0].value) for call, owner in self._loads if self._names_scaler(owner)}
        return keys.pop() if len(keys) == 1 else ""

    def loads(self, key: str) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The loads of an optimizer's state from an element of something, and what it is an element of."""
        return [
            (call, call.args[0].value.value)
            for call, owner in self._loads
            if self._roles.of(owner).role == "optimizer"
            and isinstance(call.args[0].value, cst.Subscript)
            and _key(call.args[0].value) == key
        ]

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _left_out(self) -> Iterator[Incomplete]:
        """Calls of helpers that save the state of an optimizer which they are given, and get no scaler with it."""
        for call in self._tree.find(cst.Call):
            if not says_save(call) or any(arg.star for arg in call.args):
                continue
            callee = self._callee(call)
            pair = self._saved_by(callee, call) if callee is not None else None
            if callee is None or pair is None:
                continue
            scalers = [each for each in _optional(callee) if _SAYS_SCALER.search(each)]
            if scalers and self._keeps(callee) and self.argument(call, callee, scalers[0]) is None:
                yield Incomplete(call, pair, None, scalers[0])
            elif self._tree.root(callee) is not self._tree.module and not self._keeps(callee) and not scalers:
                if not self._given_scaler(call):
                    yield Incomplete(call, pair)

    def _given_scaler(self, call: cst.Call) -> bool:
        return any(self._names_scaler(node) for arg in call.args for node in within(arg.value)
                   if isinstance(node, (cst.Name, cst.Attribute)))  # fmt: skip

    def _saved_by(self, callee: cst.FunctionDef, call: cst.Call) -> Stepped | None:
        """The pair of an optimizer that is given to a helper which takes its state."""
        for node in within(callee):
            match node:
                case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="state_dict"))):
                    given = self.argument(call, callee, name)
                    pair = self._stepper(given) if given is not None and path_of(given) else None
                    if pair is not None:
                        return pair
        return None

    def _callee(self, call: cst.Call) -> cst.FunctionDef | None:
        inside = self._tree.enclosing(call, cst.FunctionDef) or self._tree.module
        found = self._program.callee(call, inside)
        return found.node if found is not None else None

    def _callers(self, function: cst.FunctionDef) -> list[cst.Call]:
        """The calls of a function in this file, by its name."""
        name = function.name.value
        return [call for call in self._tree.find(cst.Call) if _last(path_of(call.func)) == name]


def _says_scaler(key: cst.CSTNode | None) -> bool:
    return isinstance(key, cst.SimpleString) and _SAYS_SCALER.search(key.value.strip("'\"")) is not None


def _key(node: cst.BaseExpression) -> str:
    """The literal key of an element; empty for anything else."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString(value=text)))]):
            return text.strip("'\"")
    return ""


def _optional(function: cst.FunctionDef) -> list[str]:
    """The parameters with a default."""
    params = (*function.params.params, *function.params.kwonly_params)
    return [each.name.value for each in params if each.default is not None]


def _last(path: str) -> str:
    return path.rpartition(".")[2]
