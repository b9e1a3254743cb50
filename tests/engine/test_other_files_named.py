"""A finding that rests on another file says which: by a second location, or in its note.

`found_in` holds this for every project of several files that a test writes; here are the ways in which another file may count
without being where anything goes wrong.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from forked import forked_amplint
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
TRAINS = """
import torch

def fit(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = (model(x) - y).float().square().mean()
        loss.backward()
        optimizer.step()
"""
LINEAR = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(768, 500)
        self.two = nn.Linear(500, 768)

    def forward(self, x):
        return self.two(self.one(x))
"""
CHANNELS = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 60, 3, padding=1)
        self.body = nn.Conv2d(60, 128, 3, padding=1)

    def forward(self, x):
        return self.body(self.stem(x))
"""
MASKED = """
def attend(scores, mask):
    return scores.masked_fill(mask, -1e9).softmax(-1)
"""
ENTERS = """
import torch
from torch import nn
from layers import attend

def half():
    return torch.autocast("cuda", dtype=torch.float16)

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)

    def forward(self, x, mask):
        {entering}
            return attend(self.q(x), mask)
"""
LOOP = """
import torch
from train import Layer

def fit(loader, optimizer):
    layer = Layer()
    for x, mask in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = layer(x, mask).float().sum()
        loss.backward()
        optimizer.step()
"""
ENTERED = "the autocast region is entered here"
FUNCTION = """
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad
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


def test_where_a_project_trains_is_said_of_the_nearest_file_of_the_run(tmp_path: Path) -> None:
    trains = TRAINER.format(imports="", model="model")
    root = project(tmp_path, a_train=trains, b_train=trains, b_layers=ATTENTION)
    assert noted(root, ".") == ["b/train.py:6 trains under float16 autocast"]
    assert noted(root, "b/layers.py") == ["another file of the project trains under float16 autocast"]


@pytest.mark.parametrize(
    ("entering", "underlined", "said"),
    [
        ('with torch.autocast("cuda", dtype=torch.float16):', 'torch.autocast("cuda", dtype=torch.float16)', ENTERED),
        ("with half():", "half()", ENTERED),
        ("if True:", "attend(self.q(x), mask)", "called under autocast here"),
    ],
)
def test_what_the_other_file_does_is_underlined_from_end_to_end(
    tmp_path: Path, entering: str, underlined: str, said: str
) -> None:
    train = ENTERS.format(entering=entering)
    root = project(tmp_path, layers=MASKED, train=train, loop=LOOP)
    done = forked_amplint(".", "--select", "AMP303", "--output-format", "json", "--no-cache", cwd=root)
    (found,) = json.loads(done.stdout)
    (other,) = (each for each in found["related"] if each["filename"].endswith("train.py"))
    start, end = other["location"], other["end_location"]
    assert other["message"] == said
    assert start["row"] == end["row"]
    assert train.split("\n")[start["row"] - 1][start["column"] - 1 : end["column"] - 1] == underlined


@pytest.mark.parametrize(
    ("code", "module", "said"),
    [
        ("AMP401", LINEAR, "uses mixed precision"),
        ("AMP402", CHANNELS, "uses mixed precision"),
        ("AMP208", FUNCTION, "trains in mixed precision"),
    ],
)
def test_where_mixed_precision_is_used_is_said(tmp_path: Path, code: str, module: str, said: str) -> None:
    root = project(tmp_path, train=TRAINS, layers=module, both=TRAINS + module, other="x = 1\n")
    assert noted(root, "layers.py", "train.py", code=code) == [f"train.py:7 {said}"]
    assert noted(root, "layers.py", code=code) == [f"another file of the project {said}"]
    assert noted(root, "both.py", "train.py", code=code) == [], "the file says it itself"


def noted(root: Path, *named: str, code: str = "AMP303") -> list[str]:
    """Which other files the notes of a rule end with in a run on some files."""
    done = forked_amplint(*named, "--select", code, "--output-format", "json", "--no-cache", cwd=root)
    said = (re.search(r"; ((?:another file|[\w/]+\.py:\d+) .*)", each["note"]) for each in json.loads(done.stdout))
    return [one[1] for one in said if one]
