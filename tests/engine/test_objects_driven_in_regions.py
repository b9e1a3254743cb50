"""A region stands around a method of an object that another file makes, and whose class a third file defines."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

TRAINER = """
import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def train_step(self, x, y):
        loss = self.loss(x, y)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def loss(self, x, y):
        return self.model(x).sub(y).pow(2).mean()
"""
LOOP = """
import torch


def fit(trainer, loader):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            {call}
"""
MAIN = """
from loop import fit
from trainer import Trainer


def main(model, optimizer, loader):
    trainer = {made}
    fit(trainer, loader)
"""


@pytest.mark.parametrize(
    ("call", "made", "expected"),
    [
        ("trainer.train_step(x, y)", "Trainer(model, optimizer)", {"loop.py:8 AMP201"}),
        ("trainer.train_step(x, y)", "load(model)", set()),
        ("print(trainer.loss(x, y))", "Trainer(model, optimizer)", set()),
    ],
)
def test_the_class_tells_what_the_method_does(tmp_path: Path, call: str, made: str, expected: set[str]) -> None:
    files = {"trainer": TRAINER, "loop": LOOP.format(call=call), "main": MAIN.format(made=made)}
    assert found_in(project(tmp_path, **files), select=("AMP201",)) == expected


SEVERAL = """
class Several:
    def __init__(self, optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for each in self.optimizers.values():
            each.zero_grad()

    def step(self, key, scaler):
        scaler.step(self.optimizers[key])
        scaler.update()
"""
PAIRS = """
import torch


def fit(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).mean()
        scaler.scale(loss).backward()
        optimizer.step("encoder", scaler)
        optimizer.step("decoder", scaler)
"""
STARTS = """
from pairs import fit
from several import Several


def main(model, optimizers, loader):
    fit(model, Several(optimizers), loader)
"""


def test_an_object_that_gets_the_scaler_may_be_called_like_an_optimizer(tmp_path: Path) -> None:
    files = {"several": SEVERAL, "pairs": PAIRS, "main": STARTS}
    assert found_in(project(tmp_path, **files), select=("AMP109",)) == {"pairs.py:13 AMP109"}
