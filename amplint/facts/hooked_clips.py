"""Hooks on parameters that clip each gradient as the backward pass computes it: before any scaler can unscale it."""

from __future__ import annotations

import re
from functools import cached_property

import libcst as cst

from amplint.facts.scaler_checkpoints import steppers_of
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.events import ObjectFacts
from amplint.model.literals import number
from amplint.model.records import frozen
from amplint.roles.step_pairs import StepPair, last_part
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.loop_elements import paired
from amplint.syntax.words import words

_CLIPS = frozenset({"clamp", "clamp_", "clip", "clip_"})
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_OF_SCALE = re.compile("scal", re.IGNORECASE)


@frozen
class HookedClip:
    """A call that registers such a hook.

    `limit` is the bound that is written out, `steps` where a scaler steps the optimizer of the parameters.
    """

    call: cst.Call
    limit: str
    steps: StepPair


class HookedClips:
    """The hooks of one file that clip gradients which a scaler of this file steps on."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._names = file, file.tree, file.names

    @cached_property
    def all(self) -> tuple[HookedClip, ...]:
        """Every such call, in source order."""
        calls = (call for call in self._tree.find(cst.Call) if called_name(call) == "register_hook")
        return tuple(clip for call in calls if (clip := self._clip(call)) is not None)

    def _clip(self, call: cst.Call) -> HookedClip | None:
        if not isinstance(call.func, cst.Attribute) or len(call.args) != 1:
            return None
        limit, model = self._limit(call.args[0].value), self._model(call.func.value)
        steps = self._steps(model) if limit and model and not self._is_for_some(call) else None
        return HookedClip(call, limit, steps) if steps is not None else None

    def _is_for_some(self, call: cst.Call) -> bool:
        """Whether a condition may choose between precisions, around a call or before it in its function."""
        around = self._tree.enclosing(call, cst.FunctionDef) or self._tree.module
        before = (each for each in self._tree.inside(around, cst.If) if self._tree.order(each) < self._tree.order(call))
        said = (word for each in before for word in words(each.test))
        return any(vocabulary.PRECISION_CHOICE.search(word) or vocabulary.SCALER.search(word) for word in said)

    def _limit(self, hook: cst.BaseExpression) -> str:
        """The bound that a hook clips its gradient by; empty where it does not, or by no number that is written out."""
        function = hook if isinstance(hook, cst.Lambda) else self._names.function(hook)
        given = [each.name.value for each in function.params.params] if function is not None else []
        value = _result(function)
        if len(given) != 1 or not isinstance(value, cst.Call) or called_name(value) not in _CLIPS:
            return ""
        args = [each.value for each in value.args]
        whole = [value.func.value] if isinstance(value.func, cst.Attribute) else []
        if given[0] not in map(path_of, (*whole, *args[:1])) or _OF_SCALE.search(self._tree.text(value)):
            return ""
        limits = [text.removeprefix("-") for arg in args if number(text := self._tree.text(arg))]
        return limits[-1] if limits else ""

    def _model(self, parameter: cst.BaseExpression) -> str:
        """The model whose parameters a loop goes through that gives an expression its value; empty where that is not told."""
        loop = self._tree.enclosing(parameter, cst.For)
        if not isinstance(loop, cst.For):
            return ""
        taken = [source for name, source in paired(loop.target, loop.iter) if name.value == path_of(parameter)]
        source = taken[0] if taken else None
        if (
            isinstance(source, cst.Call)
            and isinstance(source.func, cst.Attribute)
            and called_name(source) in _PARAMETERS
        ):
            return path_of(source.func.value)
        return ""

    def _steps(self, model: str) -> StepPair | None:
        """Where a scaler steps an optimizer of a model's parameters."""
        pairs = self._file.fact(steppers_of).pairs
        return next((pair for pair in pairs if last_part(model) in map(last_part, self._owners(pair.optimizer))), None)

    def _owners(self, optimizer: cst.BaseExpression) -> tuple[str, ...]:
        """Whose parameters an optimizer has; of one that comes from elsewhere, those of the only one that the file makes."""
        known = self._file.roles.of(optimizer).owners
        return known or (self._made[0].owners if len(self._made) == 1 else ())

    @cached_property
    def _made(self) -> list[ObjectFacts]:
        """What is known of the optimizers that the file makes."""
        made = map(self._file.roles.made_by, self._tree.find(cst.Call))
        return [facts for facts in made if facts is not None and facts.role == "optimizer" and facts.made]


def _result(function: cst.FunctionDef | cst.Lambda | None) -> cst.BaseExpression | None:
    """What a function gives back that does nothing else."""
    if not isinstance(function, cst.FunctionDef):
        return function.body if function is not None else None
    match function.body.body:
        case [cst.SimpleStatementLine(body=[cst.Return(value=value)])]:
            return value
        case [
            cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString())]),
            cst.SimpleStatementLine(body=[cst.Return(value=value)]),
        ]:
            return value
    return None
