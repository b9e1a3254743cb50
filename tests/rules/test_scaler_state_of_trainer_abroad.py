"""AMP114 where a trainer of another file steps an optimizer through its own scaler, and a script saves the optimizer's state."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, project

TRAINER = """
import torch

class Trainer:
    def __init__(self, model, optimizer=None):
        self.model = model
        self.optimizer = {optimizer}
        self.scaler = torch.amp.GradScaler("cuda", enabled={enabled})

    def step(self, x, y, criterion):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(self.model(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    {more}
"""
MADE, GIVEN = "torch.optim.AdamW(model.parameters())", "optimizer"
SCRIPT = """
import torch
from trainer import Trainer

{helper}
def main(model, loader, criterion, path):
    optimizer = torch.optim.AdamW(model.parameters())
    trainer = Trainer(model, optimizer)
    for epoch in range(10):
        for x, y in loader:
            trainer.step(x, y, criterion)
        {saving}
"""
OWN = 'torch.save({"model": model.state_dict(), "optimizer": trainer.optimizer.state_dict()}, path)'
HANDED = 'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)'
HELPER = """def save(run, path):
    torch.save({"model": run.model.state_dict(), "optim": run.optimizer.state_dict()}, path)
"""
WHOLE = 'torch.save({"optimizer": trainer.optimizer.state_dict(), "scaler": trainer.scaler.state_dict(), "model": model}, path)'
KEEPER = "def state(self):\n        return self.scaler.state_dict()"


@pytest.mark.parametrize(
    ("trainer", "script", "scaler"),
    [
        ({"optimizer": MADE}, {"saving": OWN}, "trainer.scaler"),
        ({"optimizer": GIVEN}, {"saving": OWN}, "trainer.scaler"),
        ({"optimizer": MADE}, {"saving": "save(trainer, path)", "helper": HELPER}, "run.scaler"),
        ({"optimizer": GIVEN}, {"saving": HANDED}, "trainer.scaler"),
        ({"optimizer": GIVEN}, {"saving": f'region = torch.autocast("cuda"); {HANDED}'}, "trainer.scaler"),
        ({"optimizer": MADE}, {"saving": WHOLE}, ""),
        ({"optimizer": MADE, "more": KEEPER}, {"saving": OWN}, ""),
        ({"optimizer": MADE, "enabled": "False"}, {"saving": OWN}, ""),
        ({"optimizer": MADE}, {"saving": f'region = torch.autocast("cuda"); {HANDED}'}, ""),
    ],
)
def test_the_script_saves_what_the_trainer_steps(
    tmp_path: Path, trainer: dict[str, str], script: dict[str, str], scaler: str
) -> None:
    root = project(
        tmp_path,
        trainer=TRAINER.format(**{"enabled": "True", "more": "", **trainer}),
        script=SCRIPT.format(**{"helper": "", **script}),
    )
    found = [each for each in check(root, "script.py").diagnostics if each.code == "AMP114"]
    told = "The checkpoint holds the state of the optimizer, but not that of `{}`"
    assert [each.message for each in found] == [told.format(scaler)] * bool(scaler)
    assert all(each.related[0].path.endswith("trainer.py") for each in found)
