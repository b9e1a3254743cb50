"""What becomes of the loss scale: experiments on real scalers, with the settings of the code."""

from __future__ import annotations

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observable
from amplint.model.events import ObjectFacts, Region
from amplint.model.literals import number
from amplint.rule import File
from amplint.runtime import makers
from amplint.runtime.devices import CUDA
from amplint.runtime.measurement import Figure, Measurement
from amplint.runtime.problem import Problem
from amplint.runtime.record import NotReplayable
from amplint.runtime.worlds import autocast

_STEPS = 12
_TOO_STEEP = 2.0**20
"""The product of scale and loss at which gradients overflow in float16 for the first few steps."""


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Count the steps that are skipped: with the scaler that a diagnostic is about, and with it as the fix leaves it.

    Raises:
        NotReplayable: no scaler is made there, or it is not found again.
    """
    place = next((call for call, _ in before.scalers.made if before.range(call.func) == diagnostic.range), None)
    again = _counterpart(before, place, after) if place is not None else None
    if place is None or again is None:
        raise NotReplayable("the scaler is not found again")
    facts = dict(before.scalers.made)[place]
    runs = [_skips(facts, _is_rebuilt(file, call), device, seed) for file, call in ((before, place), (after, again))]
    right = _skips(facts, False, device, seed)
    counts = [int(sum(each)) for each in (*runs, right)]
    series = dict(zip(("before", "after", "reference"), (*runs, right)))
    return Measurement((Figure(observable.SKIPPED, *counts),), {"steps": _STEPS}, series)


def _counterpart(before: File, place: cst.Call, after: File) -> cst.Call | None:
    """The same construction in the file with the fix, which may have moved it within its function."""
    alike = [call for call, _ in before.scalers.made if _described(before, call) == _described(before, place)]
    candidates = [call for call, _ in after.scalers.made if _described(after, call) == _described(before, place)]
    return candidates[alike.index(place)] if len(alike) == len(candidates) else None


def _described(file: File, call: cst.Call) -> tuple[str, str]:
    home = file.tree.enclosing(call, cst.FunctionDef)
    assign = file.tree.parent(call)
    return home.name.value if isinstance(home, cst.FunctionDef) else "", file.tree.text(assign or call)


def _is_rebuilt(file: File, call: cst.Call) -> bool:
    return any(each.call is call for each in file.scalers.rebuilt)


def _skips(facts: ObjectFacts, anew: bool, device: str, seed: int) -> tuple[float, ...]:
    """For each step whether it was skipped (1.0), in float16, with gradients that overflow at the scaler's initial scale."""
    kind = "cuda" if device == CUDA else "cpu"
    magnitude = _TOO_STEEP / (number(facts.init_scale) or makers.INIT_SCALE)
    problem = Problem(["optimizer"], (), kind, seed, magnitude)
    optimizer = torch.optim.SGD(problem.parameters("optimizer"), lr=makers.STAND_IN_RATE / magnitude)
    scaler, skipped = makers.scaler(facts, kind, True), []
    for _ in range(_STEPS):
        if anew:
            scaler = makers.scaler(facts, kind, True)
        optimizer.zero_grad()
        with autocast(Region("cuda", "float16", "yes"), device, True):
            [loss] = problem.losses().values()
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        skipped.append(float(scaler.get_scale() < before))
    return tuple(skipped)
