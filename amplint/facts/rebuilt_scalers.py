"""The scalers that are made anew, and forget their scale, while the optimizers that they step live on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.driving_facts import repeats
from amplint.facts.optimizer_lifetimes import Loop, OptimizerLifetimes
from amplint.facts.repeated_functions import RepeatedFunctions
from amplint.facts.scalers import Scalers
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.names import Binding
from amplint.syntax.nodes import is_reference, within

_LOOPS = (cst.For, cst.While)
_BRANCHES = (cst.If, cst.Else, cst.ExceptHandler, cst.Finally, cst.Match)
_FLAG = re.compile(r"(use|uses|with|enable|has|is)_")
_MAX_CALLERS = 3


@frozen
class Rebuilt:
    """A scaler that is made anew while the optimizer that it steps lives on.

    `loop` is the outermost loop of its own function that does so; None when the function itself is run again and again,
    by the call `again` if that stands in this file. `varies` says that its settings may change from iteration to iteration.
    `needs` is the fact that other files call the function so, where nothing in this one tells.
    """

    call: cst.Call
    loop: Loop | None = None
    again: cst.Call | None = None
    varies: bool = False
    needs: str = ""


class RebuiltScalers:
    """The scalers of one file that their optimizers outlive."""

    def __init__(self, file: File) -> None:
        self._file, self._scalers = file, file.fact(Scalers)
        self._repeated, self._lifetimes = file.fact(RepeatedFunctions), file.fact(OptimizerLifetimes)
        self._tree, self._names, self._roles = file.tree, file.names, file.roles

    @property
    def found(self) -> tuple[Rebuilt, ...]:
        """The scalers that forget their scale while their optimizer goes on, as this file shows."""
        return tuple(each for each in self.shown_by_any if not each.needs)

    @cached_property
    def shown_by_any(self) -> tuple[Rebuilt, ...]:
        """The same, with those of which other files show it."""
        made = (*self._scalers.made, *self._scalers.made_by_helpers)
        found = (self._rebuilt(call) for call, facts in made if facts.enabled != "no")
        return tuple(each for each in found if each is not None)

    def _rebuilt(self, call: cst.Call) -> Rebuilt | None:
        tree = self._tree
        home = tree.function(call)
        uses = self._scalers.uses(call)
        if isinstance(home, cst.Lambda) or any(self._method(use) == "load_state_dict" for use in uses):
            return None
        outermost: Loop | None = None
        conditional = in_loop = False
        for above in tree.ancestors(call):
            if above is home:
                break
            conditional = conditional or (
                isinstance(above, _BRANCHES) and not self._asks_for_amp(above) and not self._is_settled(above)
            )
            if isinstance(above, _LOOPS):
                in_loop = True
                inside = [use for use in (*uses, *self._holders(call, above)) if self._lifetimes.runs_in(use, above)]
                stepped = [each for use in inside for each in self._stepped(use)]
                if conditional or not stepped or not all(self._lifetimes.outlives(each, above) for each in stepped):
                    break
                outermost = above
        if outermost is not None:
            return Rebuilt(call, outermost, varies=self._varies(call, outermost))
        if conditional or in_loop or not isinstance(home, cst.FunctionDef) or home.name.value == "__init__":
            return None
        stepped = [each for use in uses if home in tree.ancestors(use) for each in self._stepped(use)]
        return self._rebuilt_by_calls(call, home, stepped) if stepped else None

    def _holders(self, made: cst.Call, loop: Loop) -> Iterator[cst.Name]:
        """Where a loop hands on the object that it puts a scaler into (`wrapper.scaler = GradScaler()`), and never restores."""
        statement = self._tree.parent(made)
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
        holder = target.value if isinstance(target, cst.Attribute) else None
        if isinstance(holder, cst.Name) and holder.value != "self":
            calls = self._tree.inside(loop, cst.Call)
            restored = any(path_of(call.func) == f"{holder.value}.load_state_dict" for call in calls)
            given = (arg.value for call in calls for arg in call.args if not restored)
            yield from (each for each in given if isinstance(each, cst.Name) and each.value == holder.value)

    def _varies(self, made: cst.Call, loop: Loop) -> bool:
        """Whether an argument names something that the loop assigns, or is computed anew."""
        inside = [node for arg in made.args for node in within(arg.value)]
        bound = [
            each.node
            for node in inside
            if isinstance(node, cst.Name)
            for each in self._names.bindings(node.value, node)
        ]
        assigned = any(node is not None and loop in self._tree.ancestors(node) for node in bound)
        targets = {path_of(each.target) for each in self._tree.inside(loop, cst.AssignTarget)} - {""}
        assigned = assigned or any(is_reference(node) and path_of(node) in targets for node in inside)
        return assigned or any(isinstance(node, cst.Call) for node in inside)

    def _asks_for_amp(self, branch: cst.CSTNode) -> bool:
        """Whether a branch is taken each time AMP is on, or there is a device for it, or never; one that asks for the scaler
        makes it on first use."""
        statement = self._tree.parent(branch) if isinstance(branch, cst.Else) else branch
        asking = self._file.analysis.amp_tests if isinstance(branch, cst.Else) else self._file.analysis.amp_needed
        if not isinstance(statement, cst.If):
            return False
        if statement not in asking and not self._asks_for_device(statement.test):
            return False
        names = [node for node in within(statement.test) if is_reference(node)]
        return all(self._roles.of(node).role != "scaler" or _is_flag(node) for node in names)

    def _is_settled(self, branch: cst.CSTNode) -> bool:
        """Whether an option that nothing in the file sets takes the same branch in each iteration of the loops around it."""
        loops = [above for above in self._tree.ancestors(branch) if isinstance(above, _LOOPS)]
        test = branch.test if isinstance(branch, cst.If) else None
        if not loops or not isinstance(test, cst.Attribute) or not isinstance(test.value, cst.Name):
            return False
        nodes = [each.node for each in self._names.bindings(test.value.value, test)]
        given_outside = all(node is not None and loops[-1] not in self._tree.ancestors(node) for node in nodes)
        targets: list[cst.BaseExpression] = [each.target for each in self._tree.find(cst.AssignTarget)]
        targets += [each.target for each in self._tree.find(cst.AugAssign)]
        is_set = any(isinstance(each, cst.Attribute) and each.attr.value == test.attr.value for each in targets)
        return bool(nodes) and given_outside and not is_set and test.value.value not in ("self", "cls")

    def _asks_for_device(self, test: cst.BaseExpression) -> bool:
        """Whether a test compares what is called like a device with something, and asks nothing besides."""
        asked = self._tree.text(test.left) if isinstance(test, cst.Comparison) else ""
        return vocabulary.DEVICE.search(asked) is not None

    def _method(self, use: cst.BaseExpression) -> str:
        above = self._tree.parent(use)
        return above.attr.value if isinstance(above, cst.Attribute) and above.value is use else ""

    def _stepped(self, use: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """The optimizers that a use steps, gives the scaler to, hands on with it, or has a function step that knows its own."""
        above = self._tree.parent(use)
        if isinstance(above, cst.Arg):
            call = self._tree.parent(above)
            given = call.args if isinstance(call, cst.Call) else ()
            if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "step":
                given = (*given, cst.Arg(call.func.value))  # `optimizer.step("critic", scaler)`
        else:
            call = self._tree.parent(above) if above is not None else None
            given = call.args[:1] if isinstance(call, cst.Call) and self._method(use) == "step" else ()
        found = [self._kept(arg.value) for arg in given if self._roles.of(arg.value).role == "optimizer"]
        if not found and isinstance(above, cst.Arg) and isinstance(call, cst.Call):
            found = list(self._stepped_inside(call, use))
        yield from found

    def _kept(self, optimizer: cst.BaseExpression) -> cst.BaseExpression:
        """The attribute of `self` that a local name stands for (`optimizer = self.optimizer`), or the collection that a loop
        takes it from; any other expression itself."""
        sources = self._roles.collections(optimizer)
        if sources and len(set(map(path_of, sources))) == 1:
            return sources[0]
        values = list(self._roles.values(optimizer)) if isinstance(optimizer, cst.Name) else []
        return values[0] if len(values) == 1 and path_of(values[0]).startswith("self.") else optimizer

    def _stepped_inside(self, call: cst.Call, scaler: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """The optimizers of its surroundings, or of its object, that a called function steps through the scaler it is given."""
        callee = self._file.callees.of(call)
        if callee is None or not isinstance(callee.node, cst.FunctionDef):
            return
        names = {
            each.name.value for each in params_of(callee.node) if given_by(call, callee.node, each.name.value) is scaler
        }
        for inner in self._tree.inside(callee.node, cst.Call):
            by = inner.func.value if isinstance(inner.func, cst.Attribute) and inner.func.attr.value == "step" else None
            if isinstance(by, cst.Name) and by.value in names and inner.args:
                optimizer = inner.args[0].value
                if self._roles.of(optimizer).role == "optimizer" and self._lifetimes.comes_from_around(
                    optimizer, callee.node
                ):
                    yield optimizer

    # -- functions that run again and again ------------------------------------------------------------------------

    def _rebuilt_by_calls(
        self, made: cst.Call, home: cst.FunctionDef, stepped: list[cst.BaseExpression]
    ) -> Rebuilt | None:
        if not all(self._lifetimes.comes_from_outside(each, home) for each in stepped):
            return None
        calls = self._file.callees.callers(home)
        if not calls:
            return Rebuilt(made) if self._repeated.runs_again(home) else self._awaiting(made, home, stepped)
        again = next((call for call in calls if self._repeats(call, home, stepped, _MAX_CALLERS)), None)
        return Rebuilt(made, again=again) if again is not None else None

    def _awaiting(self, made: cst.Call, home: cst.FunctionDef, stepped: list[cst.BaseExpression]) -> Rebuilt | None:
        """A scaler of a function that other files may call again and again, with one of its optimizers; of a method, on one of
        its objects, which has them."""
        info = self._file.classes.owner(home)
        if info is not None and info.node in self._tree.module.body and not self._repeated.counts_epochs(home):
            own = all(path_of(each).startswith("self.") for each in stepped)
            return Rebuilt(made, needs=repeats(f"{info.name}.{home.name.value}", "self")) if own else None
        params = [each.value for each in stepped if isinstance(each, cst.Name)]
        if home not in self._tree.module.body or not params or self._repeated.counts_epochs(home):
            return None
        return Rebuilt(made, needs=repeats(home.name.value, params[0]))

    def _repeats(
        self, call: cst.Call, function: cst.FunctionDef, stepped: list[cst.BaseExpression], depth: int
    ) -> bool:
        """Whether a call of a function runs in a loop that does not make the optimizer which the function steps."""
        outer = self._tree.enclosing(call, cst.FunctionDef)
        given = [self._argument(call, function, each) for each in stepped]
        if any(each is None for each in given):
            return False
        optimizers = [each for each in given if each is not None]
        for above in self._tree.ancestors(call):
            if above is outer:
                break
            if isinstance(above, _LOOPS):
                return all(self._lifetimes.outlives(each, above) for each in optimizers)
        if not isinstance(outer, cst.FunctionDef) or not depth:
            return False
        if not all(self._lifetimes.comes_from_outside(each, outer) for each in optimizers):
            return False
        return any(self._repeats(each, outer, optimizers, depth - 1) for each in self._file.callees.callers(outer))

    def _argument(
        self, call: cst.Call, function: cst.FunctionDef, expression: cst.BaseExpression
    ) -> cst.BaseExpression | None:
        """What an expression of a function is to its caller; None when that cannot be told."""
        if not isinstance(expression, cst.Name):
            return expression if path_of(expression).startswith("self.") else None
        if not any(isinstance(each.node, cst.Param) for each in self._bound(function, expression)):
            return expression
        return given_by(call, function, expression.value)

    def _bound(self, function: cst.FunctionDef, name: cst.Name) -> list[Binding]:
        return self._names.bindings_in(function).get(name.value, [])


def _is_flag(node: cst.BaseExpression) -> bool:
    """Whether something that speaks of a scaler is the flag for one: `self.use_scaler`."""
    return _FLAG.match(path_of(node).rpartition(".")[2]) is not None
