"""Clips and reads of scaled gradients: which of several scalers is told of (AMP101)."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings

GAN = """
import torch

class Trainer:
    def __init__(self, nets):
        self.nets = nets
        self.scaler_g = torch.amp.GradScaler("cuda")
        self.scaler_d = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for batch in loader:
            with torch.autocast("cuda"):
                loss_g = self.nets.generator_loss(batch)
            self.scaler_g.scale(loss_g).backward()
            {generator}
            if self.nets.due():
                self.scaler_g.step(self.nets.optimizer_g)
                self.scaler_g.update()
            with torch.autocast("cuda"):
                loss_d = self.nets.critic_loss(batch)
            self.scaler_d.scale(loss_d).backward()
            {critic}
            self.scaler_d.step(self.nets.optimizer_d)
            self.scaler_d.update()
"""
CLIP = "torch.nn.utils.clip_grad_norm_(self.nets.{net}.parameters(), 1.0)"


@pytest.mark.parametrize(("clipped", "scaler"), [("generator", "scaler_g"), ("critic", "scaler_d")])
def test_the_scaler_of_the_last_backward_pass_is_told_of(clipped: str, scaler: str) -> None:
    text = GAN.format(**{"generator": "", "critic": "", clipped: CLIP.format(net=clipped)})
    report = check_bytes("train.py", text.encode(), Settings(Path(), select=("AMP101",)), Path("train.py"))
    assert [each.message for each in report.diagnostics] == [
        f"Gradients are clipped before `self.{scaler}` unscales them"
    ]
