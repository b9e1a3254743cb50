"""Schedules whose classes stand in another file: by what they advance is read there."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes, found_in, project

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


HOOKS = """
    import torch

    class Callback:
        def on_update_end(self):
            pass

    class ScheduleCallback(Callback):
        def __init__(self, trainer):
            self.trainer = trainer
            self.scheduler = torch.optim.lr_scheduler.OneCycleLR(trainer.optimizer, 0.1, 1000)

        def {method}(self):
            {advance}
"""
STEPPING = """
    class Stepping:
        def update(self, loss):
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            {after}
"""
TRAINER = """
    import torch
    from hooks import ScheduleCallback
    from stepping import Stepping

    class Trainer(Stepping):
        def __init__(self, model, optimizer):
            self.model, self.optimizer = model, optimizer
            self.scaler = torch.amp.GradScaler("cuda"{enabled})
            self.add_callbacks()

        def add_callbacks(self):
            self.callbacks = []
            self.callbacks.append(ScheduleCallback(self))

        def train(self, loader):
            for batch in loader:
                self.optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.model(batch)
                self.update(loss)
                for each in self.callbacks:
                    each.on_update_end()
"""
ALWAYS, ASKING = "self.scheduler.step()", "if not self.trainer.skipped: self.scheduler.step()"
TOLD = "self.skipped = self.scaler.get_scale() < self.scale"


@pytest.mark.parametrize(
    ("method", "advance", "after", "enabled", "found"),
    [
        ("on_update_end", ALWAYS, "", "", {"hooks.py:14 AMP107"}),
        ("on_update_end", ASKING, TOLD, "", set()),
        ("on_update_end", ALWAYS, TOLD, "", set()),
        ("on_update_end", ALWAYS, "", ", enabled=False", set()),
        ("on_epoch_end", ALWAYS, "", "", set()),
    ],
)
def test_a_hook_is_called_back_by_the_trainer_that_makes_it(
    tmp_path: Path, method: str, advance: str, after: str, enabled: str, found: set[str]
) -> None:
    hooks = HOOKS.format(method=method, advance=advance)
    trainer = TRAINER.format(enabled=enabled)
    project(tmp_path, hooks=hooks, stepping=STEPPING.format(after=after), trainer=trainer)
    assert found_in(tmp_path, select=("AMP107",)) == found


def test_a_hook_that_nobody_makes_advances_nothing(tmp_path: Path) -> None:
    project(tmp_path, hooks=HOOKS.format(method="on_update_end", advance=ALWAYS))
    assert found_in(tmp_path, select=("AMP107",)) == set()
