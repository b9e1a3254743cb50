"""A schedule of the author's own, whose class of another file a local name is annotated with, is still a schedule (AMP107)."""

from __future__ import annotations

from pathlib import Path

from project import found_in, project

WARMUP = """
    class Warmup:
        def __init__(self, lr_scheduler, warmup_duration, last_step=-1):
            self.lr_scheduler, self.warmup_duration, self.last_step = lr_scheduler, warmup_duration, last_step

        def get_warmup_factor(self, step):
            raise NotImplementedError

        def step(self):
            self.last_step += 1
            if self.last_step >= self.warmup_duration:
                return
            factor = self.get_warmup_factor(self.last_step)
            for group in self.lr_scheduler.optimizer.param_groups:
                group["lr"] = factor * group["initial_lr"]
"""
TRAIN = """
    import torch
    from warmup import Warmup

    def train(model, criterion, loader, optimizer, **kwargs):
        scaler: torch.amp.GradScaler = kwargs.get("scaler", None)
        lr_warmup_scheduler: Warmup = kwargs.get("lr_warmup_scheduler", None)
        for samples, targets in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(samples), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            if lr_warmup_scheduler is not None:
                lr_warmup_scheduler.step()
"""


def test_a_schedule_is_found_by_its_role(tmp_path: Path) -> None:
    root = project(tmp_path, warmup=WARMUP, train=TRAIN)
    assert found_in(root, select=("AMP107",)) == {"train.py:16 AMP107"}
