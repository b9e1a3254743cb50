"""A method of an object of another file that gets a local name is followed like the method itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

MODEL = """
    from torch import nn

    class Ranker(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = nn.Linear(64, 1)
            self.loss = nn.BCELoss()

        def calculate_loss(self, x, y):
            return self.loss(self.mlp(x).sigmoid(), y)
"""
TRAINER = """
    import torch

    class Trainer:
        def __init__(self, model):
            self.model = model
            self.scaler = torch.amp.GradScaler("cuda")
            self.optimizer = torch.optim.Adam(self.model.parameters())

        def train(self, loader{given}):
            loss_of = {value}
            for x, y in loader:
                self.optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = loss_of(x, y)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
"""
MAIN = """
    from model import Ranker
    from trainer import Trainer

    def run(loader):
        Trainer(Ranker().cuda()).train(loader)
"""


@pytest.mark.parametrize(
    ("value", "given", "is_found"),
    [("self.model.calculate_loss", "", True), ("given or self.model.calculate_loss", ", given=None", False)],
)
def test_the_name_stands_for_the_method(tmp_path: Path, value: str, given: str, is_found: bool) -> None:
    root = project(tmp_path, model=MODEL, trainer=TRAINER.format(value=value, given=given), main=MAIN)
    assert found_in(root, select=("AMP304",)) == ({"model.py:11 AMP304"} if is_found else set())
