"""AMP107 where a hook of one file advances the schedule, a trainer of another calls it back, and a third file makes both."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

TRAINER = """
import torch

class Trainer:
    def __init__(self, model, optimizer, hooks):
        self.model, self.optimizer, self.hooks = model, optimizer, hooks
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            for hook in self.hooks:
                hook.{called}()
"""
HOOKS = """
class Hook:
    trainer = None

class RateHook(Hook):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def after_iter(self):
        {advance}
"""
MAIN = """
import torch
import hooks
import trainer

def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    trainer.Trainer(model, optimizer, [hooks.RateHook(schedule)]).train(loader)
"""
PLAIN = TRAINER.replace("self.scaler.step(self.optimizer)", "self.optimizer.step()")


@pytest.mark.parametrize(
    ("trainer", "called", "advance", "found"),
    [
        (TRAINER, "after_iter", "self.scheduler.step()", True),
        (TRAINER, "after_epoch", "self.scheduler.step()", False),
        (TRAINER, "after_iter", "print(self.scheduler)", False),
        (PLAIN, "after_iter", "self.scheduler.step()", False),
    ],
    ids=["each iteration", "each epoch", "no advance", "no scaler's step"],
)
def test_a_trainer_calls_the_hook(tmp_path: Path, trainer: str, called: str, advance: str, found: bool) -> None:
    root = project(tmp_path, trainer=trainer.format(called=called), hooks=HOOKS.format(advance=advance), main=MAIN)
    assert found_in(root, select=("AMP107",)) == ({"hooks.py:10 AMP107"} if found else set())


def test_no_import_leads_to_both(tmp_path: Path) -> None:
    hooks = HOOKS.format(advance="self.scheduler.step()")
    root = project(tmp_path, trainer=TRAINER.format(called="after_iter"), hooks=hooks)
    assert found_in(root, select=("AMP107",)) == set()
