"""Objects that a function, a method or a table of another module makes; and a checkpoint that one puts together."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

STEPS = """
from torch.nn.utils import clip_grad_norm_


class Rates:
    def __init__(self, optimizer, limit):
        self.optimizer, self.limit = optimizer, limit

    def step(self, grad_scaler=None):
        clip_grad_norm_(self.optimizer.param_groups[0]["params"], self.limit)
        if grad_scaler is None:
            self.optimizer.step()
        else:
            grad_scaler.step(self.optimizer)
            grad_scaler.update()


class Poly(Rates):
    def rate(self):
        return 0.9


class Cosine(Rates):
    def rate(self):
        return 0.5


class Careful(Rates):
    def step(self, grad_scaler=None):
        grad_scaler.unscale_(self.optimizer)
        super().step(grad_scaler)
"""
BUILDER = """
from steps import Careful, Cosine, Poly

TABLE = {{"poly": Poly, "cosine": Cosine}}
OTHERS = {{"poly": Poly, "careful": Careful}}


def build_scheduler(optimizer, name):
    {made}


class SchedulerBuilder:
    TABLE = {{"poly": Poly, "cosine": Cosine}}

    def build(self, optimizer, name):
        rates = self.TABLE[name](optimizer, 1.0)
        return rates
"""
TRAIN = """
import torch
from builder import SchedulerBuilder, build_scheduler


def train(model, loader, optimizer, name):
    scheduler = {call}
    grad_scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x)
        grad_scaler.scale(loss).backward()
        scheduler.step(grad_scaler=grad_scaler)
"""
ONE = "return Poly(optimizer, 1.0)"
BY_FUNCTION = "build_scheduler(optimizer, name)"
CLIPPED = {"train.py:14 AMP101"}


def found(root: Path, made: str = ONE, call: str = BY_FUNCTION) -> set[str]:
    files = {"steps": STEPS, "builder": BUILDER.format(made=made), "train": TRAIN.format(call=call)}
    return found_in(project(root, **files), select=("AMP101",))


@pytest.mark.parametrize(
    "made",
    [
        ONE,
        "rates = Poly(optimizer, 1.0)\n    return rates",
        "return TABLE[name](optimizer, 1.0)",
        'if name == "poly":\n        return Poly(optimizer, 1.0)\n    return Cosine(optimizer, 1.0)',
        "return SchedulerBuilder().build(optimizer, name)",
    ],
)
def test_a_function_makes_it(tmp_path: Path, made: str) -> None:
    assert found(tmp_path, made) == CLIPPED


def test_a_method_makes_it_from_a_table(tmp_path: Path) -> None:
    assert found(tmp_path, call="SchedulerBuilder().build(optimizer, name)") == CLIPPED


@pytest.mark.parametrize(
    "made",
    [
        "return OTHERS[name](optimizer, 1.0)",
        "return REGISTRY.get(name)(optimizer, 1.0)",
        "return Careful(optimizer, 1.0)",
    ],
)
def test_of_several_methods_none_is_meant(tmp_path: Path, made: str) -> None:
    assert found(tmp_path, made) == set()


STATES = """
def build_checkpoint(*, model, epoch, optimizer=None):
    states = {"epoch": epoch, "model": model.state_dict()}
    if optimizer is not None:
        states["optimizer"] = optimizer.state_dict()
    return states
"""
RESUMING = """
import torch
from states import build_checkpoint


def train(model, loader, optimizer, path):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(x)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        torch.save({saved}, path)
"""


def test_a_checkpoint_that_another_file_puts_together(tmp_path: Path) -> None:
    saved = "build_checkpoint(model=model, epoch=epoch, optimizer=optimizer)"
    root = project(tmp_path, states=STATES, resuming=RESUMING.format(saved=saved))
    assert found_in(root, select=("AMP114",)) == {"resuming.py:16 AMP114"}


def test_weights_that_another_file_puts_together(tmp_path: Path) -> None:
    root = project(
        tmp_path, states=STATES, resuming=RESUMING.format(saved="build_checkpoint(model=model, epoch=epoch)")
    )
    assert found_in(root, select=("AMP114",)) == set()
