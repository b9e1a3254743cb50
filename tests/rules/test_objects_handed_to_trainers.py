"""An object that steps through a scaler it is given comes from another file, by way of a constructor or of a function."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

OPTIMIZERS = """
import torch

class Optimizers:
    def __init__(self, by_name, schedules):
        self.by_name, self.schedules = by_name, schedules

    def step(self, name, scaler):
        scaler.step(self.by_name[name])
        {update}

    def advance(self, *position):
        for name in self.schedules:
            self.schedules[name].step(*position)

def build(parts):
    optimizers = {{name: torch.optim.AdamW(part.parameters()) for name, part in parts.items()}}
    schedules = {{name: torch.optim.lr_scheduler.StepLR(each, 1000) for name, each in optimizers.items()}}
    together = Optimizers(optimizers, schedules)
    return together
"""
LOOP = """
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = {nets}.second({nets}.first(batch)).square().mean()
            {scaler}.scale(loss).backward()
            {optimizers}.step("first", {scaler})
            {optimizers}.step("second", {scaler})
            {scaler}.update()
            {optimizers}.advance({position})
"""
TRAINER = """
import torch

class Trainer:
    def __init__(self, nets, optimizers):
        self.nets, self.optimizers = nets, optimizers
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, batches):
"""
FUNCTION = """
import torch

def fit(nets, optimizers, scaler, batches):
"""
SCRIPT = """
from optimizers import build
from training import {name}

def main(nets, scaler, batches):
    optimizers = {made}
    {call}
"""
OF_TRAINER = LOOP.format(nets="self.nets", scaler="self.scaler", optimizers="self.optimizers", position="")
OF_FUNCTION = LOOP.format(nets="nets", scaler="scaler", optimizers="optimizers", position="")
CALLS = {"Trainer": "Trainer(nets, optimizers).fit(batches)", "fit": "fit(nets, optimizers, scaler, batches)"}
MADE = 'build({"first": nets.first, "second": nets.second})'


def found(folder: Path, training: str, name: str = "Trainer", made: str = MADE, update: str = "pass") -> set[str]:
    """What is found in the file with the loop, where a script makes the optimizers and hands them over."""
    script = SCRIPT.format(name=name, call=CALLS[name], made=made)
    root = project(folder, optimizers=OPTIMIZERS.format(update=update), training=training, script=script)
    return found_in(root, "training.py")


def test_schedules_of_an_object_that_a_constructor_gets(tmp_path: Path) -> None:
    training = TRAINER + OF_TRAINER
    assert any("AMP107" in each for each in found(tmp_path, training))


def test_schedules_of_an_object_that_a_function_gets(tmp_path: Path) -> None:
    training = FUNCTION + OF_FUNCTION
    assert any("AMP107" in each for each in found(tmp_path, training, "fit"))


def test_a_schedule_that_is_told_a_position_is_none(tmp_path: Path) -> None:
    training = TRAINER + OF_TRAINER.replace("advance()", "advance(len(batches))")
    assert not any("AMP107" in each for each in found(tmp_path, training))


def test_an_update_in_each_step(tmp_path: Path) -> None:
    training = TRAINER + OF_TRAINER
    assert any("AMP109" in each for each in found(tmp_path, training, update="scaler.update()"))


@pytest.mark.parametrize("made", ["nets.optimizers", "load(nets)"])
def test_nothing_is_known_of_an_object_that_nobody_sees_made(tmp_path: Path, made: str) -> None:
    assert not found(tmp_path, TRAINER + OF_TRAINER, made=made)
