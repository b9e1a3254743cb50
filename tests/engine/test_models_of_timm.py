"""Models of a project that register themselves with timm, which makes one of them by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

MODELS = """
import torch
from timm.models.registry import register_model
from torch import nn

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        x = self.head(x)
        return x / (x.abs() + 1e-8)

@register_model
def net_small(pretrained=False, **kwargs):
    return Net(10)

@register_model
def net_large(pretrained=False, **kwargs):
    net = Net(100)
    return net
"""
ENGINE = """
import torch
from torch import nn

def train(model, loader, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
SCRIPT = """
import torch
import models
from engine import train
from {library} import create_model

def main(args, loader):
    model = create_model({name}, num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, loader, optimizer, torch.amp.GradScaler("cuda"))
"""


@pytest.mark.parametrize(
    ("name", "library", "found"),
    [
        ("args.model", "timm.models", True),
        ("args.model", "timm", True),
        ('"net_large"', "timm", True),
        ('"resnet50"', "timm", False),
    ],
)
def test_what_timm_makes_by_name(tmp_path: Path, name: str, library: str, found: bool) -> None:
    root = project(tmp_path, models=MODELS, engine=ENGINE, script=SCRIPT.format(name=name, library=library))
    assert found_in(root, select=("AMP302",)) == ({"models.py:13 AMP302"} if found else set())


def test_models_that_the_script_does_not_import(tmp_path: Path) -> None:
    script = SCRIPT.format(name="args.model", library="timm").replace("import models\n", "")
    root = project(tmp_path, models=MODELS, engine=ENGINE, script=script)
    assert found_in(root, select=("AMP302",)) == set()
