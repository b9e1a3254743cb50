"""A base class asks itself for a part that only its subclasses make: what they make is what it calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

BASE = """
    import torch

    class Base:
        def train(self, loader, model, optimizer):
            scaler = torch.amp.GradScaler("cuda")
            {held} = self.{builder}()
            for images, labels in loader:
                optimizer.zero_grad()
                with torch.amp.autocast("cuda"):
                    loss = {held}(model(images), labels)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
{announced}
"""
LOSSES = """
    from torch import nn

    class BinaryLoss(nn.Module):
        def forward(self, outputs, labels):
            return nn.functional.binary_cross_entropy(outputs.sigmoid(), labels)

    class LogitLoss(nn.Module):
        def forward(self, outputs, labels):
            return nn.functional.binary_cross_entropy_with_logits(outputs, labels)
"""
PRESETS = """
    from base import Base
    from losses import BinaryLoss, LogitLoss

    class Other(Base):
        def {builder}(self):
            return LogitLoss()
"""
PRESET = """
    class Preset(Base):
        def {builder}(self):
            return BinaryLoss()
"""
ANNOUNCED = "        def {builder}(self):\n            raise NotImplementedError"
MAKING = "        def {builder}(self):\n            return torch.nn.BCEWithLogitsLoss()"


@pytest.mark.parametrize("builder", ["build", "build_criterion"])
@pytest.mark.parametrize("held", ["criterion", "self.criterion"])
@pytest.mark.parametrize(
    ("announced", "is_built", "is_found"),
    [("", True, True), (ANNOUNCED, True, True), (MAKING, True, False), (ANNOUNCED, False, False)],
)
def test_what_only_subclasses_make_is_called(
    tmp_path: Path, builder: str, held: str, announced: str, is_built: bool, is_found: bool
) -> None:
    base = BASE.format(held=held, builder=builder, announced=announced.format(builder=builder))
    presets = (PRESETS + (PRESET if is_built else "")).format(builder=builder)
    root = project(tmp_path, base=base, losses=LOSSES, presets=presets)
    assert found_in(root, select=("AMP304",)) == ({"losses.py:6 AMP304"} if is_found else set())
