"""A model is made of a class that its constructor is given, as residual networks are of their blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

NET = """
import torch
from torch import nn


class Narrow(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3)

    def forward(self, x):
        return self.conv(x)


class Wide(Narrow):
    def forward(self, x):
        return self.conv(x).float()


class Net(nn.Module):
    def __init__(self, block, count=2):
        super().__init__()
        layers = []
        for _ in range(count):
            layers.append(block(64))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        out = self.layers(x)
        return out / (out.var(dim=(2, 3), keepdim=True) + 1e-10)


def _net(name, block, count, pretrained=False):
    model = Net(block, count)
    return model


def net():
    {made}
"""
TRAIN = """
import torch
from net import net


def train(loader):
    model = net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = (model(x) * y).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
FOUND = {"net.py:30 AMP302"}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("return Net(Narrow)", FOUND),
        ("return Net(block=Narrow, count=3)", FOUND),
        ("return _net('narrow', Narrow, 3)", FOUND),
        ("return Net(Wide)", set()),
        ("return _net('wide', Wide, 3)", set()),
        ("return Net(unknown)", set()),
    ],
)
def test_the_class_decides_on_the_dtype(tmp_path: Path, made: str, expected: set[str]) -> None:
    files = {"net": NET.format(made=made), "train": TRAIN}
    assert found_in(project(tmp_path, **files), select=("AMP302",)) == expected


def test_a_table_of_many_classes(tmp_path: Path) -> None:
    others = "\n".join(f"class Other{number}(Narrow):\n    pass\n" for number in range(60))
    net = f"{NET.format(made='return TABLE[CHOSEN](Narrow)')}\n\n{others}\n"
    net += "TABLE = {'net': Net, " + ", ".join(f"'other{number}': Other{number}" for number in range(60)) + "}\n"
    assert found_in(project(tmp_path, net=net, train=TRAIN), select=("AMP302",)) == FOUND


def test_a_name_of_a_module_that_a_star_brings(tmp_path: Path) -> None:
    """The file behind the star makes use of something else of the project."""
    files = {
        "models_init": "from .det import *\n",
        "models_det": "from net import Narrow\n\n" + NET.format(made="return Net(Narrow)"),
        "net": "class Narrow:\n    pass\n",
        "train": TRAIN.replace("from net import net", "import models").replace("net()", "models.__dict__[CHOSEN]()"),
    }
    assert found_in(project(tmp_path, **files), select=("AMP302",)) == {"models/det.py:32 AMP302"}
