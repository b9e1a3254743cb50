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
