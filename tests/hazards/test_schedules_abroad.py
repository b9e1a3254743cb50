"""Schedules whose classes stand in another file: by what they advance is read there."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes, project

SCHEDULES = """
    from torch.optim.lr_scheduler import _LRScheduler

    class Base(_LRScheduler):
        def get_lr(self):
            return [lr * self.last_epoch for lr in self.base_lrs]

    class WarmUp(Base):
        pass

    class PolySchedule(Base):
        counted = False

        def step(self, epoch=None):
            if {condition}:
                self.last_epoch = self.optimizer.state_dict()["state"][0]["step"]
            else:
                self.last_epoch += 1

    class LinearSchedule:
        def __init__(self, optimizer):
            self.optimizer, self.iteration = optimizer, 0

        def step(self):
            {count}
            self.apply()

        def apply(self):
            for group in self.optimizer.param_groups:
                group["lr"] = 1 / self.iteration
"""
TRAIN = """
    import torch
    from schedules import LinearSchedule, PolySchedule, WarmUp

    def prepare(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return optimizer, {name}(optimizer)

    def advance(lr_scheduler, optimizer, scaler):
        scaler.step(optimizer)
        scaler.update()
        lr_scheduler.step()
        optimizer.zero_grad()

    def train(model, loader, criterion):
        optimizer, lr_scheduler = prepare(model)
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            advance(lr_scheduler, optimizer, scaler)
"""


@pytest.mark.parametrize(
    ("name", "condition", "count", "found"),
    [
        ("WarmUp", "True", "pass", ["AMP107"]),
        ("PolySchedule", "True", "pass", []),
        ("PolySchedule", "self.counted", "pass", ["AMP107"]),
        ("LinearSchedule", "True", "self.iteration += 1", ["AMP107"]),
        ("LinearSchedule", "True", "self.iteration = self.optimizer._step_count", []),
    ],
)
def test_a_schedule_advances_by_what_its_class_says(
    tmp_path: Path, name: str, condition: str, count: str, found: list[str]
) -> None:
    schedules = SCHEDULES.format(condition=condition, count=count)
    assert codes(project(tmp_path, schedules=schedules, train=TRAIN.format(name=name)), "train.py") == found


RUNNER = """
    import torch

    class Runner:
        def __init__(self, model, optimizer, lr_scheduler, loader):
            self.model, self.optimizer, self.loader = model, optimizer, loader
            self.lr_scheduler = lr_scheduler
            self.scaler = torch.amp.GradScaler("cuda")

        def forward(self, batch):
            with torch.autocast("cuda", dtype=torch.float16):
                return self.model(batch)

        def propagate(self, loss):
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()

        def update(self):
            before = self.scaler.get_scale()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            return self.scaler.get_scale() >= before
"""
PRUNING = """
    from runner import Runner

    class PruningRunner(Runner):
        def train(self):
            for batch in self.loader:
                self.propagate(self.forward(batch))
                {advance}
"""


@pytest.mark.parametrize(
    ("advance", "found"),
    [
        ("self.update(); self.lr_scheduler.step()", ["AMP107"]),
        ("self.lr_scheduler.step(); self.update()", ["AMP107"]),
        ("if self.update(): self.lr_scheduler.step()", []),
        ("self.update()\n        self.lr_scheduler.step()", []),
    ],
)
def test_a_loop_that_speaks_of_no_scaler_may_step_through_that_of_its_base(
    tmp_path: Path, advance: str, found: list[str]
) -> None:
    assert codes(project(tmp_path, runner=RUNNER, pruning=PRUNING.format(advance=advance)), "pruning.py") == found
