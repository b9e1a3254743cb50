"""Who steps what: the pairs of a scaler and an optimizer, also through the parameters of functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.model.records import frozen
from amplint.roles.handed_out_optimizers import is_or_wraps_optimizer
from amplint.roles.held_objects import HeldObjects
from amplint.roles.roles import Roles
from amplint.roles.scaler_wrappers import ScalerWrappers
from amplint.roles.wrapped_optimizers import WrappedOptimizers
from amplint.syntax.access_paths import called_name, displayed, path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.nodes import is_reference, is_sequence, within
from amplint.syntax.tree import Tree

_MAX_CALLERS = 3
_MAX_NAMES = 3
"""From a name to what it was assigned, and so on, so many times."""


@frozen
class StepPair:
    """A scaler and an optimizer that it steps, or that it is handed on with, by `call`."""

    scaler: cst.BaseExpression
    optimizer: cst.BaseExpression
    call: cst.Call


class Steppers:
    """The optimizers of one file that are stepped through a scaler.

    Args:
        tree: the file.
        roles: what its objects are.
        wrappers: its objects that step through a scaler of their own.
        held: its objects that others hold.
        around: its objects that step an optimizer which they hold.
    """

    def __init__(
        self, tree: Tree, roles: Roles, wrappers: ScalerWrappers, held: HeldObjects, around: WrappedOptimizers
    ) -> None:
        self._tree, self._roles, self._wrappers, self._held, self._around = tree, roles, wrappers, held, around
        self.flow = roles.flow

    @cached_property
    def pairs(self) -> list[StepPair]:
        """All pairs, in source order."""
        pairs = (pair for call in self._tree.find(cst.Call) for pair in self._stepped(call))
        # Who calls the method of a wrapper knows whose optimizer it is.
        own = (pair for pair in pairs if self._wrappers.around(pair.call) is None)
        return [pair for pair in own if not self._roles.constants.leave_out(pair.call)]

    def _stepped(self, call: cst.Call) -> Iterator[StepPair]:
        given = [value for arg in call.args if is_reference(value := _unless_left_out(arg.value))]
        if type(call.func) is cst.Attribute and call.func.attr.value == "step" and given:
            if self._is_scaler(call.func.value):
                yield StepPair(call.func.value, given[0], call)
                return
        optimizers = [each for each in given if self._is_optimizer(each)]
        if not optimizers:
            for each in filter(self._is_scaler, given):
                holder = self._around.stepped_by(call, each)
                yield from () if holder is None else (StepPair(each, holder, call),)
            return
        called = [call.func, call.func.value] if isinstance(call.func, cst.Attribute) else [call.func]
        wrappers = [each for each in called if self._wrappers.may_name(each)]
        scalers = wrappers or [each for each in given if self._is_scaler(each) and not self._is_ignored(call, each)]
        for scaler in scalers[:1]:
            stepped = self._stepped_inside(call, scaler)
            yield from (StepPair(scaler, each, call) for each in optimizers if not stepped or each in stepped)

    def _stepped_inside(self, call: cst.Call, scaler: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Those of what a call gives that the function in sight which it runs steps through the scaler; none if it steps none
        itself."""
        function = self.flow.called(call)
        if function is None:
            return []
        given = {each.name.value: given_by(call, function, each.name.value) for each in params_of(function)}
        names = {name for name, value in given.items() if value is scaler}
        steps = (node for node in within(function.body) if isinstance(node, cst.Call) and called_name(node) == "step")
        taken = [
            path_of(step.args[0].value) for step in steps if step.args and path_of(step.func).split(".")[0] in names
        ]
        return [value for name, value in given.items() if value is not None and name in taken]

    def _is_ignored(self, call: cst.Call, scaler: cst.BaseExpression) -> bool:
        """Whether a call gives a scaler to a function that never names it."""
        function = self.flow.called(call)
        if function is None:
            return False
        names = {param.name.value for param in params_of(function)}
        given = {name for name in names if given_by(call, function, name) is scaler}
        named = {node.value for node in within(function.body) if isinstance(node, cst.Name)} if given else set()
        return bool(given - named)

    def _is_optimizer(self, node: cst.BaseExpression) -> bool:
        return is_or_wraps_optimizer(self._roles, node)

    def _is_scaler(self, node: cst.BaseExpression) -> bool:
        facts = self._roles.of(node)
        if facts.role == "scaler":
            return facts.enabled != "no"
        return self._wrappers.may_name(node)

    def of(self, optimizer: cst.BaseExpression, depth: int = 0) -> StepPair | None:
        """How an optimizer is stepped through a scaler, if it is.

        Args:
            optimizer: the expression that names it.
            depth: how many callers have been asked already what they give for it.
        """
        values = self._objects(optimizer)
        path = path_of(optimizer)
        found = [pair for pair in self.pairs if path and self._around.holds(pair.optimizer, optimizer)]
        found = found or [pair for pair in self.pairs if path and self._is_same(pair, optimizer, values)]
        found = found or [pair for pair in self.pairs if path and self._held.is_wrapped(pair.optimizer, optimizer)]
        if found:  # the parameter of a function may be called like it, too
            return next((pair for pair in found if path_of(pair.optimizer) == path), found[0])
        if depth < _MAX_CALLERS:
            steppers = (self.of(each, depth + 1) for each in self._others(optimizer))
            return next((each for each in steppers if each is not None), None)
        return None

    def _others(self, optimizer: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What an optimizer is called by callers, by what holds it, and where a loop takes it from."""
        if isinstance(optimizer, cst.Name):
            yield from self._arguments(optimizer)
        yield from self._held.behind(optimizer)

    def _is_same(self, pair: StepPair, optimizer: cst.BaseExpression, values: set[int]) -> bool:
        """Whether the optimizer of a pair is made where another one is, or else is called alike."""
        others = self._objects(pair.optimizer)
        if values and others:
            return bool(values & others)
        alike = last_part(path_of(optimizer)) == last_part(path_of(pair.optimizer))
        return alike and (not isinstance(optimizer, cst.Name) or not self._is_stepped_plainly(optimizer))

    def _is_stepped_plainly(self, optimizer: cst.Name) -> bool:
        """Whether the function that has an optimizer as a parameter steps it by itself, or has another function do that, and
        none through a scaler: then one that another function calls so is another one."""
        home = self._tree.enclosing(optimizer, cst.FunctionDef)
        if not isinstance(home, cst.FunctionDef) or optimizer.value not in {
            each.name.value for each in params_of(home)
        }:
            return False
        trained = [
            function for function, name in self._handed_on(home, optimizer.value) if steps_itself(function, name)
        ]
        scaling = {self._tree.enclosing(pair.call, cst.FunctionDef) for pair in self.pairs}
        return bool(trained) and home not in scaling and scaling.isdisjoint(trained)

    def _handed_on(self, function: cst.FunctionDef, name: str) -> Iterator[tuple[cst.FunctionDef, str]]:
        """The functions in sight that get a parameter of one, each with the name that it has there; that one is the first."""
        yield function, name
        for call in (node for node in within(function.body) if isinstance(node, cst.Call)):
            inner = self.flow.called(call)
            if inner is None:
                continue
            names = (each.name.value for each in params_of(inner))
            yield from ((inner, each) for each in names if path_of(given_by(call, inner, each) or call) == name)

    def _objects(self, node: cst.BaseExpression, names: int = _MAX_NAMES) -> set[int]:
        """The identities of the expressions that may have made what an expression names, through other names that it has."""
        if isinstance(node, cst.IfExp):
            return self._objects(node.body, names) | self._objects(node.orelse, names)
        if isinstance(node, cst.BooleanOperation):
            return self._objects(node.left, names) | self._objects(node.right, names)
        if not path_of(node):
            listed = displayed(node) if is_sequence(node) or isinstance(node, cst.Dict) else []
            inside = listed if all(map(self._is_optimizer, listed)) else []
            return {id(node)}.union(*(self._objects(each, names) for each in inside))
        if path_of(node) == "None" or not names:
            return set()
        values = list(self._roles.values(node)) or list(self.flow.given(node)) or self._roles.collections(node)
        values = values or self._held.made_by_holder(node)
        found: set[int] = set()
        for value in values:
            part = self._part(value, path_of(node))
            found |= {id(part)} if part is not None else self._objects(value, names - 1) or {id(value)}
        return found

    def _part(self, value: cst.BaseExpression, path: str) -> cst.BaseExpression | None:
        """Where a name stands among those that share out what a call gives back: `model` in `model, optimizer = build()`."""
        assign = self._tree.parent(value) if type(value) is cst.Call else None
        targets = [each.target for each in assign.targets] if type(assign) is cst.Assign else []
        parts = [each.value for target in targets if isinstance(target, cst.Tuple) for each in target.elements]
        return next((each for each in parts if path_of(each) == path), None)

    def _arguments(self, name: cst.Name) -> Iterator[cst.BaseExpression]:
        """What the calls in this file give for a parameter."""
        home = self._tree.enclosing(name, cst.FunctionDef)
        if isinstance(home, cst.FunctionDef):
            for call in self.flow.calls(home.name.value):
                given = given_by(call, home, name.value)
                if given is not None:
                    yield given


def _unless_left_out(value: cst.BaseExpression) -> cst.BaseExpression:
    """What an argument is if it is not None: `scaler` of `scaler if fp16 else None`."""
    sides = [value.body, value.orelse] if type(value) is cst.IfExp else [value]
    told = [each for each in sides if path_of(each) != "None"]
    return told[0] if len(told) == 1 else value


def steps_itself(function: cst.FunctionDef, name: str) -> bool:
    """Whether a function calls `step` of what a name stands for, without any argument.

    Args:
        function: the function.
        name: the name.
    """
    calls = (node for node in within(function.body) if isinstance(node, cst.Call) and not node.args)
    return any(path_of(call.func) == f"{name}.step" for call in calls)


def last_part(path: str) -> str:
    """The name at the end of an access path."""
    return path.rpartition(".")[2]
