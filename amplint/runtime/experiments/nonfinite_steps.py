"""What a batch whose gradients are not finite does to the parameters: without any guard, and with the one of a fix."""

from __future__ import annotations

import math

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.manual_loss_scaling import HandScaled, HandScaling
from amplint.model import observables
from amplint.model.events import ObjectFacts, Region
from amplint.model.literals import number
from amplint.rule import File
from amplint.runtime.changes import function_at
from amplint.runtime.devices import CUDA
from amplint.runtime.experiments.loss_guards import guarded_pass, number_of_pass
from amplint.runtime.experiments.loss_scale import STEPS, TrainingRun, too_steep
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training import torch_objects
from amplint.runtime.training.amp_and_reference import autocast
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.toy_problem import ToyProblem
from amplint.runtime.training.trainer import flat

_BAD_BATCH = 3
_OVERFLOWS = 2.0**20
"""The product of factor and loss at which gradients overflow in float16."""
_ANY_SCALER = ObjectFacts("scaler", enabled="yes")


def unguarded(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Train in bfloat16 on a batch whose loss is no number, with the tests that each text has around the backward pass.

    Raises:
        NotReplayable: the backward pass is not found again, or its tests ask for more than the loss.
    """
    mine, theirs = (_steps_on_losses(file, before, diagnostic) for file in (before, after))
    figures = [
        Figure(
            name,
            *(_after_bad_batch(value, tested, device, seed) for tested in (not mine[value], not theirs[value], True)),
        )
        for name, value in (
            (observables.DAMAGED, math.nan),
            (f"{observables.DAMAGED}, after an infinite loss", math.inf),
        )
    ]
    left_out = Figure(
        "good batches that are left out", 0 if mine[1.0] else STEPS, 0 if theirs[1.0] else STEPS, reference=0
    )
    return Measurement((*figures, left_out), {"bad batch": _BAD_BATCH, "batches": STEPS})


def _steps_on_losses(file: File, before: File, diagnostic: Diagnostic) -> dict[float, bool]:
    """Whether the file steps on a loss that is a number, on NaN and on infinity, after the backward pass of a finding.

    Raises:
        NotReplayable: there is no such pass, or its tests ask for more than the loss.
    """
    text, row = before.source.text, diagnostic.range.start.row
    passed = guarded_pass(file.source.text, function_at(text, row), number_of_pass(text, row))
    if passed is None:
        raise NotReplayable("the backward pass is not found again")
    answers = {value: passed.steps_on(value) for value in (1.0, math.nan, math.inf)}
    told = {value: answer for value, answer in answers.items() if answer is not None}
    if len(told) < len(answers):
        raise NotReplayable("a test around the backward pass asks for more than the loss")
    return told


def _after_bad_batch(value: float, tested: bool, device: str, seed: int) -> int:
    """How many parameters are not finite behind a batch with a loss of this value, if it is left out or not."""
    problem = _problem(device, seed)
    optimizer = torch.optim.SGD(problem.parameters("optimizer"), lr=torch_objects.STAND_IN_RATE)
    for batch in range(1, STEPS + 1):
        optimizer.zero_grad()
        with autocast(Region("cuda", "bfloat16", "yes"), device, True):
            [loss] = problem.losses().values()
        if batch == _BAD_BATCH:
            loss = loss * value
        if tested and not loss.isfinite():
            continue
        loss.backward()
        optimizer.step()
    return _not_finite(problem)


def scaled_by_hand(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Train in float16 on losses that the factor of the code makes overflow, and with a scaler in its place.

    Raises:
        NotReplayable: the multiplication is not found again.
    """
    scaled = next(
        (each for each in before.fact(HandScaling).found if before.range(each.multiplication) == diagnostic.range), None
    )
    if scaled is None:
        raise NotReplayable("the multiplication is not found again")
    if _raises_on_overflow(before, scaled.backward):
        raise NotReplayable("the code raises an error for gradients that are not finite")
    factor = number(before.tree.text(scaled.factor))
    given: dict[str, float | str] = {"factor": factor} if factor else {}
    assumed = () if factor else (f"a factor of {torch_objects.INIT_SCALE:g}",)
    by_hand, with_scaler = _by_hand(factor or torch_objects.INIT_SCALE, device, seed), _with_scaler(device, seed)
    counts = by_hand, _with_fix(before, after, scaled, device, seed), with_scaler
    return Measurement((Figure(observables.OVERFLOWED, *counts),), given, assumed=assumed)


def _raises_on_overflow(file: File, backward: cst.Call) -> bool:
    """Whether the function of a backward pass clips so that gradients that are not finite raise an error."""
    home = file.tree.function(backward)
    asked = [arg for call in file.tree.find(cst.Call) if file.tree.function(call) is home for arg in call.args]
    return any(
        arg.keyword is not None and arg.keyword.value == "error_if_nonfinite" and file.tree.text(arg.value) != "False"
        for arg in asked
    )


def _with_fix(before: File, after: File, scaled: HandScaled, device: str, seed: int) -> int:
    """The same figure for the backward pass of the fixed file: by hand as ever, or on what its scaler scales.

    Raises:
        NotReplayable: there is none, or nothing scales its loss any more.
    """
    text, row = before.source.text, before.range(scaled.backward).start.row
    home, number_there = function_at(text, row), number_of_pass(text, row)
    passes = [
        call
        for call, _ in after.flow.methods("backward")
        if function_at(after.source.text, after.range(call).start.row) == home
    ]
    if number_there >= len(passes):
        raise NotReplayable("with the fix, the backward pass is not found again")
    again = passes[number_there]
    by_hand = next((each for each in after.fact(HandScaling).found if each.backward is again), None)
    if by_hand is not None:
        return _by_hand(number(after.tree.text(by_hand.factor)) or torch_objects.INIT_SCALE, device, seed)
    calls = (call for call, _ in after.flow.methods("scale") if after.tree.function(call) is after.tree.function(again))
    scalers = [after.roles.of(call.func.value) for call in calls if isinstance(call.func, cst.Attribute)]
    facts = next((each for each in scalers if each.role == "scaler" and each.enabled != "no"), None)
    if facts is None:
        raise NotReplayable("with the fix, nothing scales the loss")
    return _with_scaler(device, seed, facts)


def _by_hand(factor: float, device: str, seed: int) -> int:
    problem = _problem(device, seed, _OVERFLOWS / factor)
    optimizer = torch.optim.SGD(problem.parameters("optimizer"), lr=torch_objects.STAND_IN_RATE)
    with autocast(Region("cuda", "float16", "yes"), device, True):
        [loss] = problem.losses().values()
    (loss * factor).backward()
    for parameter in problem.parameters("optimizer"):
        if parameter.grad is not None:
            parameter.grad.div_(factor)
    optimizer.step()
    return _not_finite(problem)


def _with_scaler(device: str, seed: int, facts: ObjectFacts = _ANY_SCALER) -> int:
    run = TrainingRun(facts, "float16", too_steep(facts), device, seed)
    run.skips()
    return int((~flat(run.optimizer.param_groups[0]["params"]).isfinite()).sum())


def _problem(device: str, seed: int, magnitude: float = 1.0) -> ToyProblem:
    return ToyProblem(["optimizer"], (), "cuda" if device == CUDA else "cpu", seed, magnitude)


def _not_finite(problem: ToyProblem) -> int:
    return int((~flat(problem.parameters("optimizer")).isfinite()).sum())
