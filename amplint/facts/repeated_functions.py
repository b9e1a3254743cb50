"""Functions that are one epoch or one iteration, by what they are called, are told or do."""

from __future__ import annotations

import re

import libcst as cst

from amplint.facts.trial_code import Trials
from amplint.file import File
from amplint.syntax.access_paths import called_name
from amplint.syntax.nodes import within

_LOOPS = (cst.For, cst.While)
_REPEATED = re.compile(
    r"(^|_)(train|training|fit|run|do)_?(one_?|single_?|a_?)?(epoch|step|batch|iter(ation)?|minibatch)$"
)
_EPOCH = re.compile(r"^(cur(rent)?_)?epoch(_?(id|idx|index|i))?$")


class RepeatedFunctions:
    """The functions of one file that nobody in sight calls, and that are run again and again all the same."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._names, self._roles = file, file.tree, file.names, file.roles

    def runs_again(self, home: cst.FunctionDef) -> bool:
        """Whether a function is run once for each epoch, batch or iteration.

        Args:
            home: the function.
        """
        named = _REPEATED.search(home.name.value) is not None and not self.counts_epochs(home)
        return named or self._is_told_the_epoch(home) or self._steps_once(home)

    def _steps_once(self, home: cst.FunctionDef) -> bool:
        """Whether a function is one iteration: it scales a loss and steps, all of it outside of loops, and is no trial."""
        if self._file.fact(Trials).is_called_one(home):
            return False
        ours = [call for call in self._tree.inside(home, cst.Call) if self._tree.function(call) is home]
        done = {call: done for call in ours if (done := self._done(call))}
        looped = any(self._tree.enclosing(call, *_LOOPS, cst.FunctionDef) is not home for call in done)
        return {"scale", "step"} <= set[str]().union(*done.values()) and not looped

    def _done(self, call: cst.Call) -> set[str]:
        """What a call does with a scaler: its method, or those that a function in sight calls, outside of loops, of one which it
        is given."""
        if isinstance(call.func, cst.Attribute) and self._is_scaler(call.func.value):
            return {called_name(call)}
        callee = self._file.callees.of(call) if any(self._is_scaler(arg.value) for arg in call.args) else None
        inside = self._tree.inside(callee.node, cst.Call) if callee is not None else ()
        calls = [each for each in inside if isinstance(each.func, cst.Attribute) and self._is_scaler(each.func.value)]
        looped = any(isinstance(self._tree.enclosing(each, *_LOOPS, cst.FunctionDef), _LOOPS) for each in calls)
        return set[str]() if looped else {*map(called_name, calls)}

    def _is_scaler(self, node: cst.BaseExpression) -> bool:
        return self._roles.of(node).role == "scaler"

    def _is_told_the_epoch(self, home: cst.FunctionDef) -> bool:
        """Whether a function is called once for each epoch: it gets the number of the epoch, and counts none itself."""
        told = {name for name in self._names.bindings_in(home) if _EPOCH.match(name)}
        params = [each.name.value for each in (*home.params.params, *home.params.kwonly_params)]
        return bool(told & set(params) - self._counted(home))

    def counts_epochs(self, home: cst.FunctionDef) -> bool:
        """Whether a function goes through the epochs itself, whatever it is called.

        Args:
            home: the function.
        """
        return any("epoch" in name.lower() and "per_epoch" not in name.lower() for name in self._counted(home))

    def _counted(self, home: cst.FunctionDef) -> set[str]:
        """The names in the headers of a function's loops."""
        loops = [loop for loop in self._tree.find(cst.For) if home in self._tree.ancestors(loop)]
        headers = [node for loop in loops for part in (loop.target, loop.iter) for node in within(part)]
        return {node.value for node in headers if isinstance(node, cst.Name)}
