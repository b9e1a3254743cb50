"""What forward passes are for: training, or evaluation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from amplint.facts.models import Models
from amplint.file import File
from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.words import words

_EVALUATING = re.compile(r"(^|_)(eval|evaluate|validate|validation|val|test)(_|$)")
_PREDICTING = re.compile(rf"{_EVALUATING.pattern}|(^|_)(predict|infer|inference)(_|$)")
"""What functions are called that evaluate, if none of their callers trains."""
_PART_OF_STEP = re.compile(r"train|loss|objective|forward")
"""What functions are called that may do a part of a training step, too."""


class Purposes:
    """Tells what the forward passes of one file are for.

    Args:
        file: the file.
        models: its models.
    """

    def __init__(self, file: File, models: Models) -> None:
        self._file, self._tree, self._models = file, file.tree, models

    def of(self, chain: Sequence[cst.Call], models: Sequence[cst.BaseExpression]) -> tuple[bool, int]:
        """Whether a pass trains, and at which call of its chain it turns out to be an evaluation; -1 where it is none.

        The innermost function that tells decides: `main` may train, and call what evaluates.

        Args:
            chain: the call of the model, the call of the function that it stands in, and so on.
            models: the model, as these functions know it; shorter where one does not.
        """
        homes = [self._home(call) for call in chain]
        for index, (call, home) in enumerate(zip(chain, homes)):
            if any(region.device == "grad" for region, _ in self._file.contexts.entries(call)):
                return False, -1 if self._serves_step(call, home) else index
            if index < len(models) and self._is_in_evaluation_mode(models[index], call, home):
                return False, index
            if home in self._propagating or (index == 0 and home in self._propagating_by_helper):
                return True, -1
            if _is_called(home, _EVALUATING) and not _is_called(home, _PART_OF_STEP):
                return False, index
        predicts = (index for index, home in enumerate(homes) if _is_called(home, _PREDICTING))
        return False, next(predicts, -1)

    def _is_in_evaluation_mode(self, model: cst.BaseExpression, call: cst.Call, home: cst.CSTNode) -> bool:
        """Whether `eval()` of a model, or of the object that has it, comes before a call, and no backward pass after it."""
        order = self._tree.order
        path = path_of(model)
        wanted = {path, "self"} if path.startswith("self.") else {path}
        modes = [
            each
            for each, base in (*self._file.flow.methods("eval"), *self._file.flow.methods("train"))
            if self._home(each) is home and path_of(self._models.origin(base)) in wanted
        ]
        before = [each for each in modes if order(each) < order(call)]
        last = max(before, key=order, default=None)
        if last is None or not _sets_to_evaluate(last) or self._is_conditional(last, call):
            return False
        end = min((order(each) for each in modes if order(each) > order(call)), default=math.inf)
        backward = (order(each) for each in self._backward_calls if self._home(each) is home)
        return not any(order(last) < each < end for each in backward)

    def _is_conditional(self, mode: cst.Call, call: cst.Call) -> bool:
        """Whether a mode is set under a condition that the call does not depend on as well."""
        around = set(self._tree.ancestors(call))
        choices = (above for above in self._tree.ancestors(mode) if isinstance(above, (cst.If, cst.IfExp)))
        return any(above not in around for above in choices) or self._tree.exclude_each_other(mode, call)

    def _serves_step(self, call: cst.Call, home: cst.CSTNode) -> bool:
        """Whether a pass without gradients makes targets for the training step around it, in the same iteration."""
        loop = self._loop(call)
        around = [each for each in self._backward_calls if self._home(each) is home and self._loop(each) is loop]
        evals = (each for each, _ in self._file.flow.methods("eval"))
        return (
            loop is not None
            and any(not self._tree.exclude_each_other(call, each) for each in around)
            and not any(self._loop(each) is loop for each in evals)
        )

    def _loop(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The innermost loop around a node in its function."""
        loop = self._tree.enclosing(node, cst.For, cst.While, cst.FunctionDef)
        return loop if isinstance(loop, (cst.For, cst.While)) else None

    def _home(self, node: cst.CSTNode) -> cst.CSTNode:
        return self._tree.enclosing(node, cst.FunctionDef) or self._tree.module

    @cached_property
    def _backward_calls(self) -> list[cst.Call]:
        methods = (*self._file.flow.methods("backward"), *self._file.flow.methods("manual_backward"))
        return [*(call for call, _ in methods), *filter(_steps_by_scaler, self._tree.find(cst.Call))]

    @cached_property
    def _propagating(self) -> set[cst.CSTNode]:
        """The functions that run a backward pass."""
        return set(map(self._home, self._backward_calls))

    @cached_property
    def _propagating_by_helper(self) -> set[cst.CSTNode]:
        """The functions that call one that runs a backward pass."""
        helpers = (home for home in self._propagating if isinstance(home, cst.FunctionDef))
        return {self._home(call) for helper in helpers for call in self._file.callees.callers(helper)}


def _steps_by_scaler(call: cst.Call) -> bool:
    """Whether a call gives a loss to a scaler's wrapper, which runs the backward pass and the step:
    `loss_scaler(loss, optimizer)`."""
    name = called_name(call)
    if not name[:1].islower() or vocabulary.SCALER.search(name) is None:
        return False
    return any("loss" in word for arg in call.args for word in words(arg))


def _sets_to_evaluate(mode: cst.Call) -> bool:
    """Whether a call is `eval()` or `train(False)`."""
    given = [arg.value for arg in mode.args]
    if called_name(mode) == "eval":
        return not given
    return len(given) == 1 and isinstance(given[0], cst.Name) and given[0].value == "False"


def _is_called(home: cst.CSTNode, words: re.Pattern[str]) -> bool:
    return isinstance(home, cst.FunctionDef) and words.search(home.name.value) is not None
