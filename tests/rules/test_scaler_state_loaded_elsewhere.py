"""AMP114 where a function of another file loads the state of the scaler that it is given."""

from __future__ import annotations

from pathlib import Path

from project import check, project

RESUMING = """
import torch

def resume(path, model, optimizer, loss_scaler):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    loss_scaler.load_state_dict(state["loss_scaler"])
"""
RESUMED = """
import torch
from resuming import resume

def main(model, batches, path):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    resume(path, model, optimizer, scaler)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
"""


def test_the_key_from_which_a_function_of_another_file_loads(tmp_path: Path) -> None:
    root = project(tmp_path, resuming=RESUMING, script=RESUMED)
    [found] = [each for each in check(root, "script.py").diagnostics if each.code == "AMP114"]
    assert "load" not in found.note
    assert found.fix is not None and '"loss_scaler": scaler.state_dict()' in found.fix.edits[0].replacement
