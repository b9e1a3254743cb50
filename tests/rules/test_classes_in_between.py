"""What a class inherits through a class of another file that does nothing with AMP itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

BASE = """
import torch

class Trainer:
    def __init__(self, model):
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def finish(self):
        self.optimizer.step()
        self.scaler.update()
"""
USE = """
import torch
from between import Named

class Classifier(Named):
    def train_batch(self, data, target):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.criterion(self.model(data), target)
        self.backward(loss)
        self.finish()
"""


@pytest.mark.parametrize(
    "between",
    [
        "from base import Trainer\n\nclass Named(Trainer):\n    def title(self):\n        return self.name\n",
        "import base\n\nclass Named(base.Trainer):\n    title = 'trainer'\n",
        "from base import (\n    Trainer,\n)\n\nclass Named(Trainer, object):\n    pass\n",
    ],
)
def test_methods_come_through_a_class_that_does_nothing_of_it(tmp_path: Path, between: str) -> None:
    root = project(tmp_path, base=BASE, between=between, use=USE)
    assert "use.py:10 AMP104" in found_in(root, "use.py")
