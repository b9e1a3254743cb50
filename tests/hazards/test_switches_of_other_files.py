"""An object of another file has the scaler, and a flag that decides whether it scales."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

PRECISION = """
import torch


class Precision:
    def __init__(self, enabled, device):
        self.enabled, self.other = enabled and device.startswith("cuda"), device == "cpu"
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.enabled)

    def scaled(self, loss):
        return self.scaler.scale(loss) if self.{scales} else loss

    def step(self, optimizer):
        if self.enabled:
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            optimizer.step()
"""
LOOP = """
import torch
from precision import Precision


class Loop:
    def __init__(self, model, optimizer, criterion, mixed):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.precision = Precision(enabled=mixed, device="cuda")

    def epoch(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16, enabled=self.precision.enabled):
                loss = self.criterion(self.model(x), y)
            scaled = self.precision.scaled(loss)
            scaled.backward()
            self.precision.step(self.optimizer)
"""


@pytest.mark.parametrize(("scales", "expected"), [("enabled", set()), ("other", {"loop.py:17 AMP103"})])
def test_what_is_scaled_is_what_the_scaler_steps(tmp_path: Path, scales: str, expected: set[str]) -> None:
    root = project(tmp_path, precision=PRECISION.format(scales=scales), loop=LOOP)
    assert found_in(root, select=("AMP103",)) == expected
