"""Scalers that are made, asked and given up in the wrong place: AMP112, AMP113, AMP118, AMP122, AMP124, AMP307."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from amplint.model.events import Backward, GradAccess, OptimizerStep, Scale, ScalerStep, ScalerUpdate, SchedulerStep

from ..code import Block, Code, Move
from ..planting import marked, plant
from ..probing import HALVES
from ..program import Program
from ..scene import Scene, new_scaler
from ..showing import Show

_WITH_A_SCALER = ("always", "flag", "optional")


def stepped_by_several(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether one optimizer was stepped by several scalers, one after the other."""
    for each in shows:
        scalers: dict[str, set[str]] = {}
        for recorded in each.events:
            if isinstance(recorded.event, ScalerStep) and recorded.values.get("enabled"):
                scalers.setdefault(recorded.event.optimizer, set()).add(recorded.event.scaler)
        if any(len(names) > 1 for names in scalers.values()):
            return True
    return False


@plant("AMP113", stepped_by_several, anywhere=True, scalings=_WITH_A_SCALER)
def rebuilt(scene: Scene) -> None:
    """A scaler made in each iteration, in each epoch, in a function; or once, or with everything else in each fold."""
    slots = scene.slots
    place = scene.pick(("", "step", "epoch", "function", "folds"))
    lines = [f"{scaler} = {new_scaler(scene)}" for scaler in scene.scalers]
    if place in ("function", "folds"):
        scene.in_class = False
    match place:
        case "step":
            slots.first += lines
        case "epoch":
            slots.epoch += lines
        case "folds":
            slots.folds = True
    if place != "folds":
        slots.scaler_in = place


def only_bfloat16(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether an enabled scaler has scaled, and all regions were bfloat16 ones."""
    scaled = any(isinstance(one.event, Scale) and one.values.get("enabled") for each in shows for one in each.events)
    regions = {dtype for each in shows for one in each.passes if one.trains for dtype in one.regions}
    return scaled and regions & {*HALVES} == {torch.bfloat16}


@plant("AMP118", only_bfloat16, anywhere=True, scalings=_WITH_A_SCALER)
def in_bfloat16(scene: Scene) -> None:
    """A program as it is: a scaler, and regions of one dtype or another."""


def _mistaken(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether the scheduler, which moves after updates that leave the scale as it is, stands still where the scale grows."""
    for each in shows:
        moves = [one for one in each.events if isinstance(one.event, (ScalerStep, ScalerUpdate, SchedulerStep))]
        followed: dict[float, set[bool]] = {}
        for one, following in zip(moves, moves[1:]):
            if isinstance(one.event, ScalerUpdate) and not isinstance(following.event, ScalerUpdate):
                before, after = one.values["before"], one.values["scale"]
                assert isinstance(before, float) and isinstance(after, float)
                followed.setdefault(after / before, set()).add(isinstance(following.event, SchedulerStep))
        if True in followed.get(1.0, ()) and False in followed.get(2.0, ()):
            return True
    return False


@plant("AMP122", _mistaken, anywhere=True, scalings=("always", "flag"), schedules=("iteration",))
def by_equality(scene: Scene) -> None:
    """A gate in front of the scheduler, which asks one way or another."""
    scene.slots.gated = True
    scene.slots.gate = scene.pick(
        (
            "{} >= scale_before",
            "{} == scale_before",
            "scale_before <= {}",
            "scale_before == {}",
            "not {} < scale_before",
            "not {} != scale_before",
        )
    )
    scene.accumulation = 1


def without_regions(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether an enabled scaler has scaled, and nothing ran under autocast."""
    scaled = any(isinstance(one.event, Scale) and one.values.get("enabled") for each in shows for one in each.events)
    return scaled and not any(one.regions for each in shows for one in each.passes)


@plant("AMP124", without_regions, anywhere=True, scalings=_WITH_A_SCALER)
def no_region(scene: Scene) -> None:
    """A forward pass without a region."""
    if scene.chance(60):
        scene.slots.around = lambda body: body


def _ruined(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a run in bfloat16 without a scaler has ended with parameters that are no numbers."""
    for each in shows:
        scaled = any(isinstance(one.event, Scale) and one.values.get("enabled") for one in each.events)
        if each.broken and not scaled and any(torch.bfloat16 in one.regions for one in each.passes):
            return True
    return False


@plant("AMP307", _ruined, anywhere=True, scalings=("absent",), dtypes=("bfloat16",))
def unguarded(scene: Scene) -> None:
    """Training that asks for finite losses, or does not."""
    if scene.chance(40):
        loss = scene.trained[0].loss
        test = scene.pick((f"not torch.isfinite({loss})", f"not math.isfinite({loss}.item())", f"torch.isnan({loss})"))
        scene.slots.behind.append(Block(f"if {test}:", ("continue",)))


_FACTOR = 1024.0


def _divided(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether gradients were divided by hand by the factor, and some that were not finite were stepped."""
    for each in shows:
        norm, by_hand = math.nan, False
        ratios, ruined = set(), False
        for recorded in each.events:
            value = recorded.values.get("norm")
            match recorded.event:
                case Backward():
                    norm, by_hand = float(value) if isinstance(value, float) else math.nan, False
                case GradAccess(writes=True):
                    by_hand = True
                case OptimizerStep() if by_hand and isinstance(value, float):
                    ratios.add(round(norm / value) if value and math.isfinite(norm / value) else 0)
                    ruined |= not math.isfinite(value)
        in_half = any(torch.float16 in one.regions for one in each.passes)
        if _FACTOR in ratios and ruined and in_half:
            return True
    return False


@plant("AMP112", _divided, anywhere=True, scalings=("absent",), dtypes=("float16",))
def by_hand(scene: Scene) -> None:
    """The loss times a constant, and the gradients divided by it; or only a weight of the loss."""
    scene.accumulation, scene.trained = 1, scene.trained[:1]
    one = scene.trained[0]
    factor, divides = scene.pick(((_FACTOR, True), (_FACTOR, False), (0.5, False)))
    divide = Block(f"for parameter in {one.model}.parameters():", (f"parameter.grad.div_({factor})",))

    def edit(moves: list[Move]) -> list[Move]:
        kept = [move for move in moves if move.kind not in ("clip", "read")]
        changed: list[Move] = []
        for move in kept:
            code: Code = (marked("AMP112", f"({one.loss} * {factor}).backward()"),)
            changed.append(replace(move, code=code) if move.kind == "backward" else move)
            last = move.kind == "backward" and sum(each.kind == "backward" for each in changed) == sum(
                each.kind == "backward" for each in kept
            )
            if last and divides:
                changed.append(Move("divide", (divide,)))
        return changed

    scene.slots.edit = edit
