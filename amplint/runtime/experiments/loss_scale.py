"""What becomes of the loss scale: experiments on real scalers, with the settings of the code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.rebuilt_scalers import RebuiltScalers
from amplint.facts.scalers import Scalers
from amplint.model import observables
from amplint.model.events import ObjectFacts, Region
from amplint.model.literals import number
from amplint.rule import File
from amplint.runtime.devices import CUDA
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.recording.patches import Patches
from amplint.runtime.training import torch_objects
from amplint.runtime.training.amp_and_reference import autocast
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.toy_problem import ToyProblem
from amplint.runtime.training.trainer import flat

STEPS = 12
"""How many steps an experiment takes."""
STEEP = "losses at which the gradients overflow in the first few steps"
"""What is assumed of the training, in words."""
_TOO_STEEP = 2.0**20
"""The product of scale and loss at which gradients overflow in float16 for the first few steps."""


def take(before: File, after: File, diagnostic: Diagnostic, measure: str, device: str, seed: int) -> Measurement:
    """Train with the scaler that a diagnostic is about, as it is made, and as it is made with the fix.

    Raises:
        NotReplayable: no scaler is made there, or it is not found again.
    """
    place = next((call for call, _ in before.fact(Scalers).made if before.range(call.func) == diagnostic.range), None)
    again = _counterpart(before, place, after) if place is not None else None
    if place is None or again is None:
        raise NotReplayable("the scaler is not found again")
    makings = _making(before, place), _making(after, again)
    return _skipped(makings, device, seed) if measure == observables.SKIPPED else _checked(makings, device, seed)


@dataclass(frozen=True)
class _Making:
    """How a scaler is made: what its arguments say, and whether it is made anew for each step."""

    facts: ObjectFacts
    anew: bool


def _making(file: File, call: cst.Call) -> _Making:
    return _Making(
        dict(file.fact(Scalers).made)[call], any(each.call is call for each in file.fact(RebuiltScalers).found)
    )


def _counterpart(before: File, place: cst.Call, after: File) -> cst.Call | None:
    """The same construction in the file with the fix, which may have moved it, also out of its function; of several that take
    its place, which must all be alike, the first."""
    alike = [call for call, _ in before.fact(Scalers).made if _described(before, call) == _described(before, place)]
    candidates = [call for call, _ in after.fact(Scalers).made if _described(after, call) == _described(before, place)]
    if len(alike) == len(candidates):
        return candidates[alike.index(place)]
    rebuilt = [each.call for each in after.fact(RebuiltScalers).found if each.call in candidates]
    if rebuilt and len(alike) == 1:
        return rebuilt[0]  # whatever is made before the loop: this one is used in it
    known = {_described(before, call) for call, _ in before.fact(Scalers).made}
    moved = [(call, facts) for call, facts in after.fact(Scalers).made if _described(after, call) not in known]
    return moved[0][0] if moved and not candidates and len({facts for _, facts in moved}) == 1 else None


def _described(file: File, call: cst.Call) -> tuple[str, str]:
    """The function in which a scaler is made, and what it is assigned to."""
    home, assign = file.tree.enclosing(call, cst.FunctionDef), file.tree.enclosing(call, cst.Assign)
    name = home.name.value if isinstance(home, cst.FunctionDef) else ""
    return name, file.tree.text(assign.targets[0].target) if isinstance(assign, cst.Assign) else ""


# -- steps skipped -----------------------------------------------------------------------------------------------------


def _skipped(makings: tuple[_Making, _Making], device: str, seed: int) -> Measurement:
    """Count the steps that are skipped in float16, with gradients that overflow at the scaler's initial scale."""
    runs = [_skips(each, device, seed) for each in (*makings, _Making(makings[0].facts, anew=False))]
    series = dict(zip(("before", "after", "reference"), runs))
    counts = [int(sum(each)) for each in runs]
    return Measurement((Figure(observables.SKIPPED, *counts),), {"steps": STEPS}, series, assumed=(STEEP,))


def _skips(making: _Making, device: str, seed: int) -> tuple[float, ...]:
    """For each step whether it was skipped (1.0)."""
    run = TrainingRun(making.facts, "float16", too_steep(making.facts), device, seed, making.anew)
    return tuple(float(run.skips()) for _ in range(STEPS))


def too_steep(facts: ObjectFacts) -> float:
    """The magnitude of a loss with which the first few steps overflow at the initial scale."""
    return _TOO_STEEP / (number(facts.init_scale) or torch_objects.INIT_SCALE)


class TrainingRun:
    """A run of training under autocast, with a scaler.

    Args:
        facts: how the code makes the scaler.
        dtype: that of the region.
        magnitude: about how large the losses are.
        device: one of `amplint.runtime.devices`.
        seed: of model and data.
        anew: whether a new scaler is made for each step.
    """

    def __init__(
        self, facts: ObjectFacts, dtype: str, magnitude: float, device: str, seed: int, anew: bool = False
    ) -> None:
        self._facts, self._anew, self._dtype, self._device = facts, anew, dtype, device
        self._kind = "cuda" if device == CUDA else "cpu"
        self._problem = ToyProblem(["optimizer"], (), self._kind, seed, magnitude)
        self.optimizer = torch.optim.SGD(
            self._problem.parameters("optimizer"), lr=torch_objects.STAND_IN_RATE / magnitude
        )
        self.scaler = self._scaler()

    def _scaler(self) -> torch.amp.GradScaler:
        return torch_objects.scaler(self._facts, self._kind, self._facts.enabled != "no")

    def backward(self) -> None:
        """The next batch, up to its scaled gradients."""
        if self._anew:
            self.scaler = self._scaler()
        self.optimizer.zero_grad()
        with autocast(Region("cuda", self._dtype, "yes"), self._device, True):
            [loss] = self._problem.losses().values()
        self.scaler.scale(loss).backward()

    def skips(self) -> bool:
        """Whether the step on the next batch is skipped."""
        self.backward()
        before = self.scaler.get_scale()
        self.step()
        return bool(self.scaler.get_scale() < before)

    def step(self) -> torch.Tensor:
        """The step on these gradients, which are returned as the optimizer saw them."""
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return flat(each.grad for each in self._problem.parameters("optimizer") if each.grad is not None)


# -- passes over the gradients -----------------------------------------------------------------------------------------


def _checked(makings: tuple[_Making, _Making], device: str, seed: int) -> Measurement:
    """Count, in bfloat16, the passes over all gradients, and the elements of these that a scaler changes."""
    off = _Making(replace(makings[0].facts, enabled="no"), anew=False)
    (passes, gradients), (passes_after, gradients_after), (none, right) = (
        _passes(each, device, seed) for each in (*makings, off)
    )
    changed = [int((each != right).sum()) for each in (gradients, gradients_after, right)]
    figures = (Figure(observables.CHECKED, passes, passes_after, none), Figure("gradients that it changes", *changed))
    return Measurement(figures, {"steps": STEPS})


def _passes(making: _Making, device: str, seed: int) -> tuple[int, torch.Tensor]:
    """How often all gradients were looked at for inf and NaN, and the gradients of all steps as the optimizer saw them."""
    counted = 0
    check = torch._amp_foreach_non_finite_check_and_unscale_

    def counting(*args: Any) -> Any:
        nonlocal counted
        counted += 1
        return check(*args)

    patches, seen = Patches(), []
    try:
        patches.attribute(torch, "_amp_foreach_non_finite_check_and_unscale_", counting)
        run = TrainingRun(making.facts, "bfloat16", 1.0, device, seed, making.anew)
        for _ in range(STEPS):
            run.backward()
            seen.append(run.step())
    finally:
        patches.undo()
    return counted, torch.cat(seen)
