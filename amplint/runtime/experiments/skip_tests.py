"""What a comparison of loss scales says of a step, held against what the step did, while a real scaler grows and backs off."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.skip_tests import SkipTest, SkipTests
from amplint.model.observables import MISTAKEN
from amplint.rule import File
from amplint.runtime.changes import changes
from amplint.runtime.devices import CUDA
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training import torch_objects
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.toy_problem import ToyProblem
from amplint.runtime.training.trainer import flat
from amplint.syntax.comparisons import COMPARED

_STEPS, _OVERFLOW, _GROWTH_INTERVAL = 12, 5, 3
_READ = (
    ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.cmpop, ast.operator,
    ast.unaryop, ast.boolop, ast.expr_context,
)  # fmt: skip
"""What conditions are made of that are evaluated: arithmetic with scales and numbers."""


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Train through growth and overflow, and count the steps of which the test says what is not so.

    Raises:
        NotReplayable: the comparison is not found again.
    """
    tests = before.fact(SkipTests).found
    index = next((at for at, test in enumerate(tests) if before.range(test.comparison) == diagnostic.range), None)
    if index is None:
        raise NotReplayable("the comparison is not found again")
    again = after.fact(SkipTests).found
    first = partial(_answer, tests[index])
    fixed = partial(_answer, again[index]) if len(again) == len(tests) else _in_its_place(before, after, tests[index])
    steps = _train(device, seed)
    mistakes = [_mistakes(test, steps) for test in (first, fixed)]
    figures = (
        Figure(MISTAKEN, mistakes[0][0], mistakes[1][0], 0),
        Figure("skipped steps that it takes for taken", mistakes[0][1], mistakes[1][1], 0),
    )
    return Measurement(figures, {"steps": _STEPS, "growth_interval": _GROWTH_INTERVAL})


_Step = tuple[float, float, bool]
"""The scale before a step, the scale after it, and whether it was taken."""


def _train(device: str, seed: int) -> list[_Step]:
    kind = "cuda" if device == CUDA else "cpu"
    problem = ToyProblem(["optimizer"], ["optimizer"], kind, seed)
    optimizer = torch.optim.SGD(problem.parameters("optimizer"), lr=torch_objects.STAND_IN_RATE)
    scaler = torch.amp.GradScaler(kind, growth_interval=_GROWTH_INTERVAL)
    steps: list[_Step] = []
    for number in range(_STEPS):
        optimizer.zero_grad()
        [loss] = problem.losses(["optimizer"] if number == _OVERFLOW else ()).values()
        scaler.scale(loss).backward()
        held, scale = flat(problem.parameters("optimizer")), scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        taken = not torch.equal(held, flat(problem.parameters("optimizer")))
        steps.append((scale, scaler.get_scale(), taken))
    return steps


_Test = Callable[[float, float], bool]
"""What a condition says of the scale before a step and the one after it."""


def _answer(test: SkipTest, old: float, new: float) -> bool:
    compare = COMPARED[type(test.operator)]
    return compare(old, new) if test.before_first else compare(new, old)


def _in_its_place(before: File, after: File, test: SkipTest) -> _Test:
    """The condition that a repair has put into the place of a comparison.

    Raises:
        NotReplayable: there is none, or it asks for more than two scales.
    """
    row = before.range(test.comparison).start.row
    for change in changes(before.source.text, after.source.text):
        old, new = change.before, change.after
        if isinstance(old, ast.If) and isinstance(new, ast.If) and old.lineno == row:
            sides = [test.comparison.left, test.comparison.comparisons[0].comparator]
            kept = ast.unparse(ast.parse(before.tree.text(sides[not test.before_first]), mode="eval"))
            if all(isinstance(each, _READ) for each in ast.walk(new.test)) and _asks_for_scales(new.test, kept):
                return partial(_evaluated, compile(ast.Expression(_Scales(kept).visit(new.test)), "", "eval"))
    raise NotReplayable("the comparison is not found again")


def _asks_for_scales(test: ast.expr, kept: str) -> bool:
    """Whether a condition is about the kept scale, the present one, and numbers, and nothing else."""
    left = _Scales(kept).visit(ast.parse(ast.unparse(test), mode="eval"))
    names = {each.id for each in ast.walk(left) if isinstance(each, ast.Name)}
    return names <= {"old", "new", "abs"} and not any(isinstance(each, ast.Attribute) for each in ast.walk(left))


class _Scales(ast.NodeTransformer):
    """Puts `old` for the kept scale, and `new` for the one that a scaler is asked for."""

    def __init__(self, kept: str) -> None:
        self._kept = kept

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and ast.unparse(node) == self._kept:
            return ast.copy_location(ast.Name("old", ast.Load()), node)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".get_scale"):
            return ast.copy_location(ast.Name("new", ast.Load()), node)
        return self.generic_visit(node)


def _evaluated(test: CodeType, old: float, new: float) -> bool:
    return bool(eval(test, {"__builtins__": {}, "abs": abs}, {"old": old, "new": new}))


def _mistakes(test: _Test, steps: list[_Step]) -> tuple[int, int]:
    """How many taken steps a condition takes for skipped, and how many skipped ones for taken.

    Its answer to a scale that has not moved is the one for a step that was taken.
    """
    says_taken = [test(old, new) == test(1.0, 1.0) for old, new, _ in steps]
    taken = [each[2] for each in steps]
    pairs = list(zip(taken, says_taken))
    return pairs.count((True, False)), pairs.count((False, True))
