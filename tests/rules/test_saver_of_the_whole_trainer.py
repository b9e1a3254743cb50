"""AMP114 where what saves is given the whole object that trains, and takes the states out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, codes_and_rows, project

TRAINER = """
import torch
from saving import Saver, save

class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(x).mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        {call}
"""
SAVE = 18
SAVING = """
import torch

def save(trainer, path):
    state = {{"model": trainer.model.state_dict(), "optimizer": trainer.optimizer.state_dict()}}
    {more}
    torch.save(state, path)

def save_weights(trainer, path):
    torch.save(trainer.model.state_dict(), path)

class Saver:
    def __init__(self, trainer=None):
        self._trainer = trainer

    def save(self, path):
        save(self._trainer, path)

    def save_own(self, path):
        state = {{"optimizer": self._trainer.optimizer.state_dict()}}
        {more_own}
        torch.save(state, path)
"""
SCALER = 'state["scaler"] = trainer.scaler.state_dict()'


def found(tmp_path: Path, call: str, more: str = "pass") -> list[tuple[str, int]]:
    saving = SAVING.format(more=more, more_own=more.replace("trainer", "self._trainer"))
    root = project(tmp_path, saving=saving, trainer=TRAINER.format(call=call))
    return codes_and_rows(root, "trainer.py")


@pytest.mark.parametrize(
    ("call", "row"),
    [
        ('save(self, "a.pt")', SAVE),
        ('save(path="a.pt", trainer=self)', SAVE),
        ('saver = Saver(self)\n        saver.save_own("a.pt")', SAVE + 1),
        ('saver = Saver(self)\n        saver.save("a.pt")', SAVE + 1),
    ],
)
@pytest.mark.parametrize(("more", "lacks"), [("pass", True), (SCALER, False)])
def test_the_state_of_the_optimizer_is_taken_out_of_the_trainer(
    tmp_path: Path, call: str, row: int, more: str, lacks: bool
) -> None:
    assert found(tmp_path, call, more) == ([("AMP114", row)] if lacks else [])


def test_weights_alone_are_taken_out_of_it(tmp_path: Path) -> None:
    call = 'from saving import save_weights\n        save_weights(self, "a.pt")'
    assert found(tmp_path, call) == []


MADE_IN_ONE_CALL = """
import torch
from saving import save_weights

def main(build, loader):
    model, optimizer = build()
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    save_weights({saved}, "a.pt")
"""


@pytest.mark.parametrize(("saved", "rows"), [("model", []), ("optimizer", [15])])
def test_what_one_call_gives_back_is_told_apart(tmp_path: Path, saved: str, rows: list[int]) -> None:
    saving = "import torch\n\ndef save_weights(net, path):\n    torch.save(net.state_dict(), path)\n"
    root = project(tmp_path, saving=saving, script=MADE_IN_ONE_CALL.format(saved=saved))
    assert [each.range.start.row for each in check(root, "script.py").diagnostics] == rows
