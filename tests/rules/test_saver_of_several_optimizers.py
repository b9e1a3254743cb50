"""AMP114 where a function of another file saves the states of several optimizers, which it goes through by number."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes, project

SAVING = """
import torch

def save(model, optimizers, path):
    state = {{"model": model.state_dict()}}
    for number, optimizer in enumerate(optimizers):
        state[f"optimizer_{{number}}"] = optimizer.state_dict()
    {more}
    torch.save(state, path)
"""
TRAIN = """
import torch
from saving import save

def train(model, loader):
    optimizers = {optimizers}
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            losses = model(x)
        for loss in losses:
            scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        save(model, optimizers, "last.pt")
"""
TWO = "(torch.optim.Adam(model.a.parameters()), torch.optim.Adam(model.b.parameters()))"


@pytest.mark.parametrize("optimizers", [TWO, "model.make_optimizers()"])
@pytest.mark.parametrize(("more", "found"), [("pass", ["AMP114"]), ('state["scaler"] = model.scaler.state_dict()', [])])
def test_states_go_under_numbered_keys(tmp_path: Path, optimizers: str, more: str, found: list[str]) -> None:
    files = project(tmp_path, saving=SAVING.format(more=more), train=TRAIN.format(optimizers=optimizers))
    assert codes(files, "train.py") == found
