"""AMP114 where a callback saves the state of a trainer that it is given, and whose class another file defines."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

TRAINER = """
import torch
from callbacks import Saver

class EpochTrainer:
    def __init__(self, model, half):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda") if half else None
        self.callbacks = [Saver()]

    def train(self, loader, criterion):
        for callback in self.callbacks:
            callback.begin({given})
        for x, y in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    {more}
"""
CALLBACKS = """
import torch

class Callback:
    def begin(self, given):
        self.{held} = given

class Saver(Callback):
    def end(self, path):
        torch.save(self.content(), path)

    def content(self):
        return {{"model": self.{held}.model.state_dict(), "optimizer": self.{held}.optimizer.state_dict(){more}}}
"""
KEEPER = "def state(self):\n        return self.scaler.state_dict()"


@pytest.mark.parametrize(
    ("trainer", "saver", "count"),
    [
        ({}, {}, 1),
        ({"given": "len(self.callbacks)"}, {}, 0),
        ({"more": KEEPER}, {}, 0),
        ({}, {"held": "learner"}, 0),
        ({}, {"more": ', "scaler": self.trainer.scaler.state_dict()'}, 0),
    ],
    ids=["hands itself out", "keeps itself", "has its state taken", "another object", "all is saved"],
)
def test_a_callback_saves_the_trainer(
    tmp_path: Path, trainer: dict[str, str], saver: dict[str, str], count: int
) -> None:
    root = project(
        tmp_path,
        trainer=TRAINER.format(**{"given": "self", "more": "", **trainer}),
        callbacks=CALLBACKS.format(**{"held": "trainer", "more": "", **saver}),
    )
    assert found_in(root, select=("AMP114",)) == ({"callbacks.py:13 AMP114"} if count else set())


def test_no_import_leads_to_both(tmp_path: Path) -> None:
    trainer = TRAINER.format(given="self", more="").replace("from callbacks import Saver", "from hooks import Saver")
    callbacks = CALLBACKS.format(held="trainer", more="")
    root = project(tmp_path, trainer=trainer, hooks="class Saver:\n    pass", other_callbacks=callbacks)
    assert found_in(root, select=("AMP114",)) == set()


ENGINE = """
import torch
from saving import Saving
from stepping import Stepping

class Engine:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.hooks = [Stepping(), Saving()]

    def call(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)
"""
STEPPING = """
import torch
from hooks import Hook

class Stepping(Hook):
    def before(self, engine):
        self.scaler = torch.amp.GradScaler("cuda")

    def after_iteration(self, engine):
        self.scaler.scale(engine.loss).backward()
        self.scaler.step(engine.optimizer)
        self.scaler.update()
        engine.optimizer.zero_grad()

    {more}
"""
SAVING = """
from files import save_states
from hooks import Hook

class Saving(Hook):
    def after_epoch(self, engine):
        save_states(engine.model, "last.pth", optimizer={saved})
"""
HOOKS = "class Hook:\n    def before(self, engine):\n        pass\n\n    def after_epoch(self, engine):\n        pass\n"
FILES = """
import torch

def save_states(model, path, optimizer=None):
    states = dict(model=model.state_dict())
    if optimizer is not None:
        states["optimizer"] = optimizer.state_dict()
    torch.save(states, path)
"""


@pytest.mark.parametrize(
    ("more", "saved", "count"),
    [("pass", "engine.optimizer", 1), ("pass", "engine.other_optimizer", 0), (KEEPER, "engine.optimizer", 0)],
)
def test_one_hook_steps_and_another_one_saves(tmp_path: Path, more: str, saved: str, count: int) -> None:
    parts = {"engine": ENGINE, "stepping": STEPPING.format(more=more), "saving": SAVING.format(saved=saved)}
    root = project(tmp_path, files=FILES, hooks=HOOKS, **parts)
    assert len([each for each in found_in(root) if each.startswith("saving.py:7 AMP114")]) == count


MADE = """
import torch
from checkpoints import Manager

class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

def main(model, loader):
    trainer = Trainer(model)
    manager = Manager()
    for inputs, targets in loader:
        trainer.step(inputs, targets)
    {after}
"""
MANAGER = """
import torch

class Manager:
    def save(self, trainer, path):
        torch.save({"model": trainer.model.state_dict(), "optimizer": trainer.optimizer.state_dict()}, path)
"""


@pytest.mark.parametrize(
    ("after", "count"),
    [
        ('manager.save(trainer, "last.pt")', 1),
        ("print(trainer)", 0),
        ('manager.save(trainer, "last.pt"); torch.save(trainer.scaler.state_dict(), "scaler.pt")', 0),
    ],
)
def test_who_makes_a_trainer_gives_it_to_a_saver(tmp_path: Path, after: str, count: int) -> None:
    root = project(tmp_path, train=MADE.format(after=after), checkpoints=MANAGER)
    assert found_in(root, select=("AMP114",)) == ({"checkpoints.py:6 AMP114"} if count else set())
