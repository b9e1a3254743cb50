"""AMP207 where the trainer that gets a half model is a class of another file."""

from pathlib import Path

import pytest
from project import codes_and_rows, project

TRAINER = """
import torch


class Trainer:
    def __init__(self, model, loader):
        self.model = model.to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")
        self.loader = loader

    def run(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.cross_entropy(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def evaluate(self):
        return [self.model(x) for x, _ in self.loader]


class Finetuner(Trainer):
    def __init__(self, model, loader, name):
        super().__init__(model, loader)
        self.name = name
"""

MAIN = """
import torch
from trainer import Finetuner, Trainer


def main(loader):
    model = torch.nn.Linear(8, 4)
    {cast}
    trainer = {made}
    trainer.{method}()
"""


@pytest.mark.parametrize(
    ("cast", "made", "method", "reported"),
    [
        ("model.half()", "Trainer(model, loader)", "run", True),
        ("model = model.half()", "Finetuner(model, loader, 'last')", "run", True),
        ("model.half()", "Trainer(model, loader)", "evaluate", False),
        ("model.half().float()", "Trainer(model, loader)", "run", False),
        ("teacher = torch.nn.Linear(8, 4).half()", "Trainer(model, loader)", "run", False),
    ],
)
def test_a_trainer_of_another_file_trains_the_half_model(
    tmp_path: Path, cast: str, made: str, method: str, reported: bool
) -> None:
    root = project(tmp_path, trainer=TRAINER, main=MAIN.format(cast=cast, made=made, method=method))
    found = codes_and_rows(root, "main.py")
    assert found == ([("AMP207", 8)] if reported else [])
