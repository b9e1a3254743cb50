"""AMP113 where a function of one file makes the scaler, and a loop of another one calls it for each epoch."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

ENGINE = """
import torch

def train(model, loader, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
MAIN = """
import torch
import {imported}

def main(model, loader, criterion, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for epoch in range(epochs):
        {call}
"""
EACH = {"imported": "engine", "before": "model.train()", "call": "engine.train(model, loader, optimizer, criterion)"}
ONE = "engine.train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1), criterion)"
ANEW = f"optimizer = torch.optim.SGD(model.parameters(), lr=epoch); {EACH['call']}"


@pytest.mark.parametrize(
    ("main", "found"),
    [
        (EACH, True),
        ({**EACH, "before": EACH["call"], "call": "print(epoch)"}, False),
        ({**EACH, "call": ONE}, False),
        ({**EACH, "call": ANEW}, False),
        ({**EACH, "imported": "other as engine"}, False),
    ],
    ids=["each epoch", "once", "its own optimizer", "a new optimizer", "another function"],
)
def test_the_scaler_of_a_function_that_a_loop_calls(tmp_path: Path, main: dict[str, str], found: bool) -> None:
    other = "def train(model, loader, optimizer, criterion):\n    print(model)"
    root = project(tmp_path, engine=ENGINE, other=other, main=MAIN.format(**main))
    assert found_in(root, select=("AMP113",)) == ({"engine.py:5 AMP113"} if found else set())


def test_a_function_that_goes_through_the_epochs_itself(tmp_path: Path) -> None:
    engine = ENGINE.replace("for data, target in loader:", "for data, target in epochs_of(loader):")
    root = project(tmp_path, engine=engine, main=MAIN.format(**EACH))
    assert found_in(root, select=("AMP113",)) == set()


TRAINER = """
import torch

class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, criterion):
        scaler = torch.amp.GradScaler("cuda")
        for data, target in self.loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.model(data), target)
            scaler.scale(loss).backward()
            scaler.step(self.optimizer)
            scaler.update()
"""
SCRIPT = """
from engine import Trainer

class Quiet(Trainer):
    {method}

def main(model, loader, criterion, epochs):
    trainer = {made}
    for epoch in range(epochs):
        {call}
"""
ENTERED = (
    "None\n    with Trainer(model, loader) as entered:\n        for epoch in range(epochs): entered.fit(criterion)"
)
OF_TRAINER = {"made": "Trainer(model, loader)", "call": "trainer.fit(criterion)", "method": "pass"}


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (OF_TRAINER, True),
        ({**OF_TRAINER, "made": "Quiet(model, loader)"}, True),
        ({**OF_TRAINER, "made": "Quiet(model, loader)", "method": "def fit(self, criterion): pass"}, False),
        ({**OF_TRAINER, "call": "trainer = Trainer(model, loader); trainer.fit(criterion)"}, False),
        ({**OF_TRAINER, "made": "load(model)"}, False),
        ({**OF_TRAINER, "made": ENTERED}, True),
        ({**OF_TRAINER, "call": "print(trainer)"}, False),
    ],
    ids=["each epoch", "of a subclass", "another method", "a new trainer", "some other object", "entered", "never"],
)
def test_the_scaler_of_a_method_that_a_loop_calls(tmp_path: Path, script: dict[str, str], found: bool) -> None:
    root = project(tmp_path, engine=TRAINER, main=SCRIPT.format(**script))
    assert found_in(root, select=("AMP113",)) == ({"engine.py:10 AMP113"} if found else set())
