"""What a comparison of loss scales says of a step, held against what the step did, while a real scaler grows and backs off."""

from __future__ import annotations

import operator
from collections.abc import Callable

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.skip_tests import SkipTest, SkipTests
from amplint.model.observables import MISTAKEN
from amplint.rule import File
from amplint.runtime.devices import CUDA
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training import torch_objects
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.toy_problem import ToyProblem
from amplint.runtime.training.trainer import flat

_STEPS, _OVERFLOW, _GROWTH_INTERVAL = 12, 5, 3
_OPERATORS: dict[type[cst.BaseCompOp], Callable[[float, float], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Train through growth and overflow, and count the steps of which the test says what is not so.

    Raises:
        NotReplayable: the comparison is not found again.
    """
    tests = before.fact(SkipTests).found
    index = next((at for at, test in enumerate(tests) if before.range(test.comparison) == diagnostic.range), None)
    if index is None or len(after.fact(SkipTests).found) != len(tests):
        raise NotReplayable("the comparison is not found again")
    steps = _train(device, seed)
    mistakes = [_mistakes(test, steps) for test in (tests[index], after.fact(SkipTests).found[index])]
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


def _mistakes(test: SkipTest, steps: list[_Step]) -> tuple[int, int]:
    """How many taken steps a comparison takes for skipped, and how many skipped ones for taken.

    Its answer to a scale that has not moved is the one for a step that was taken.
    """
    compare = _OPERATORS[type(test.operator)]
    said = [compare(old, new) if test.before_first else compare(new, old) for old, new, _ in steps]
    says_taken = [answer == compare(1.0, 1.0) for answer in said]
    taken = [each[2] for each in steps]
    pairs = list(zip(taken, says_taken))
    return pairs.count((True, False)), pairs.count((False, True))
