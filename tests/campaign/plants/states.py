"""What is saved: AMP114 and AMP308."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from amplint.model.events import ScalerStep

from ..code import Block, Line
from ..planting import marked, plant
from ..probing import HALVES
from ..program import Program
from ..scene import Scene
from ..showing import Show


def _parts(saved: Any) -> Iterator[Any]:
    """An object that was saved, and what it holds, at any depth."""
    yield saved
    for each in saved.values() if isinstance(saved, dict) else saved if isinstance(saved, (list, tuple)) else ():
        yield from _parts(each)


def _holds(saved: Any, *keys: str) -> bool:
    return any(isinstance(each, dict) and set(keys) <= each.keys() for each in _parts(saved))


def without_scaler(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether an optimizer's state was saved and that of the enabled scaler which stepped it was not."""
    for each in shows:
        steps = any(isinstance(one.event, ScalerStep) and one.values.get("enabled") for one in each.events)
        optimizers = any(_holds(saved, "state", "param_groups") for saved in each.saved)
        if steps and optimizers and not any(_holds(saved, "growth_interval", "scale") for saved in each.saved):
            return True
    return False


@plant("AMP114", without_scaler, scalings=("always", "flag", "optional"))
def saved(scene: Scene) -> None:
    """A checkpoint with the scaler's state or without: a dict, a key that comes later, a helper, files of their own."""
    one = scene.trained[0]
    kept = scene.chance(50)
    state = f"{one.scaler}.state_dict()"
    entries = f'"model": {one.model}.state_dict(), "optimizer": {one.optimizer}.state_dict()'
    save = "torch.save(checkpoint, io.BytesIO())"
    added = Block(f"if {one.scaler} is not None:", (f'checkpoint["scaler"] = {state}',))
    lines: list[Line] = []
    match scene.pick(("dict", "later", "files", "weights")):
        case "dict":
            both = f'{entries}, "scaler": {state}' if kept and scene.scaling != "optional" else entries
            lines = [marked("AMP114", f"checkpoint = {{{both}}}"), marked("AMP114", save)]
        case "later":
            lines = [
                marked("AMP114", f"checkpoint = {{{entries}}}"),
                *([added] if kept else []),
                marked("AMP114", save),
            ]
        case "files":
            other = f"torch.save({state}, io.BytesIO())"
            lines = [marked("AMP114", f"torch.save({one.optimizer}.state_dict(), io.BytesIO())")]
            lines += [Block(f"if {one.scaler} is not None:", (other,))] if kept else []
        case _:
            lines = [f'torch.save({{"model": {one.model}.state_dict()}}, io.BytesIO())']
    scene.slots.last += lines


def half_weights(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether weights were saved in half beside an optimizer's state."""
    return any(
        _holds(saved, "state", "param_groups")
        and any(isinstance(part, torch.Tensor) and part.dtype in HALVES for part in _parts(saved))
        for each in shows
        for saved in each.saved
    )


@plant("AMP308", half_weights)
def halved(scene: Scene) -> None:
    """Weights cast to half on their way into a file, with an optimizer's state or alone."""
    one = scene.trained[0]
    weights = scene.pick((f"copy.deepcopy({one.model}).half().state_dict()", f"{one.model}.state_dict()",
                          f"{{name: weight.half() for name, weight in {one.model}.state_dict().items()}}"))  # fmt: skip
    beside = scene.pick(
        (f', "optimizer": {one.optimizer}.state_dict()', f', "optimizer": {one.optimizer}.state_dict()', "")
    )
    named = scene.chance(40)
    lines = [marked("AMP308", f"weights = {weights}")] if named else []
    held = "weights" if named else weights
    lines.append(marked("AMP308", f'torch.save({{"model": {held}{beside}}}, io.BytesIO())'))
    scene.slots.last += lines
