"""A finding that rests on another file says which: by a second location, or in its note.

`found_in` holds this for every project of several files that a test writes; here are the ways in which another file may count
without being where anything goes wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

REGION = """
import torch

def half_region():
    return torch.autocast("cuda", dtype=torch.float16)
"""
UNSCALED = """
import torch
import regions
from regions import half_region

def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        with {region}:
            loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
SCHEDULES = """
import torch

def make(optimizer, steps):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps)
"""
SCHEDULED = """
import torch
from schedules import make

def train(model, loader, criterion, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    s = make(optimizer, steps)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        s.step()
"""
ATTENTION = """
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)

    def forward(self, x, mask):
        scores = self.q(x)
        return scores.masked_fill(mask, -1e9).softmax(-1)
"""
TRAINER = """
from transformers import Trainer, TrainingArguments
{imports}

def main(model, data):
    args = TrainingArguments("out", fp16=True)
    Trainer(model={model}, args=args, train_dataset=data).train()
"""


@pytest.mark.parametrize("region", ["half_region()", "regions.half_region()"])
def test_a_region_that_another_file_makes(tmp_path: Path, region: str) -> None:
    root = project(tmp_path, regions=REGION, train=UNSCALED.format(region=region))
    assert found_in(root, select=("AMP106",)) == {"train.py:12 AMP106"}


def test_a_schedule_that_another_file_makes(tmp_path: Path) -> None:
    assert found_in(project(tmp_path, schedules=SCHEDULES, train=SCHEDULED), select=("AMP107",)) == {
        "train.py:16 AMP107"
    }


@pytest.mark.parametrize(("imports", "model"), [("from layers import Attention", "Attention()"), ("", "model")])
def test_a_trainer_that_another_file_makes(tmp_path: Path, imports: str, model: str) -> None:
    root = project(tmp_path, layers=ATTENTION, train=TRAINER.format(imports=imports, model=model))
    assert found_in(root, select=("AMP303",)) == {"layers.py:11 AMP303"}
