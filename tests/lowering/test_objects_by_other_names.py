"""One object under two names: behind properties, methods that give it back, and constructors that were given it."""

from __future__ import annotations

import pytest
from lowered import found

TRAINER = """
import torch

class Trainer:
    def __init__(self, net):
        self.net = net
        self._scaler = torch.amp.GradScaler("cuda")
        self._optimizer = torch.optim.AdamW(net.parameters())

{getters}

def train(trainer, loader, criterion):
    trainer = Trainer(torch.nn.Linear(8, 8))
    for data, target in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(trainer.net(data), target)
        {scaler}.scale(loss).backward()
        {scaler}.step({optimizer})
        trainer._scaler.update()
        trainer._optimizer.zero_grad()
"""
PROPERTIES = """
    @property
    def scaler(self):
        return self._scaler

    @property
    def optimizer(self):
        return self.optimizer_of_steps

    @property
    def optimizer_of_steps(self):
        return self._optimizer
"""
METHODS = """
    def get_scaler(self):
        # Asked for once.
        return self._scaler

    def get_optimizer(self):
        return self._optimizer
"""
LAZY = PROPERTIES.replace(
    "        return self._scaler",
    "        if not self._scaler:\n            self._scaler = None\n        return self._scaler",
)
OTHER = PROPERTIES.replace("return self._scaler", "return self._scaler or self._other")


@pytest.mark.parametrize(
    ("getters", "scaler", "optimizer", "same"),
    [
        (PROPERTIES, "trainer.scaler", "trainer.optimizer", True),
        (METHODS, "trainer.get_scaler()", "trainer.get_optimizer()", True),
        (LAZY, "trainer.scaler", "trainer.optimizer", True),
        (OTHER, "trainer.scaler", "trainer.optimizer", False),
    ],
    ids=["properties", "methods", "made when asked for", "one of two"],
)
def test_what_a_getter_names(getters: str, scaler: str, optimizer: str, same: bool) -> None:
    code = TRAINER.format(getters=getters, scaler=scaler, optimizer=optimizer)
    assert {kind for _, kind in found(code)} == (set() if same else {"missing-update"})
    assert {kind for _, kind in found(code.replace("trainer._scaler.update()", "pass"))} == {"missing-update"}


KEPT = """
import torch
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

class Plain:
    def __init__(self, optimizer, scaler=None):
        self.optimizer, self.scaler = optimizer, scaler

class Wrapping:
    def __init__(self, optimizer, scaler):
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")

@dataclass(frozen=True)
class Data:
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler

class Pair(NamedTuple):
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler

def train(net, loader, criterion):
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    state = {made}
    for data, target in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(net(data), target)
        scaler.scale(loss).backward()
        scaler.step(state.optimizer)
        state.scaler.update()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("made", "same"),
    [
        ("Data(optimizer, scaler)", True),
        ("Data(scaler=scaler, optimizer=optimizer)", True),
        ("Pair(optimizer, scaler=scaler)", True),
        ("Plain(optimizer, scaler)", True),
        ("SimpleNamespace(optimizer=optimizer, scaler=scaler)", True),
        ("Wrapping(optimizer, scaler)", False),
    ],
)
def test_what_a_constructor_was_given(made: str, same: bool) -> None:
    kinds = {kind for _, kind in found(KEPT.format(made=made))}
    assert "missing-update" not in kinds if same else "missing-update" in kinds
