"""AMP201 where the backward pass stands in another file: measurements are left alone there, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes, project

CALLER = """
import torch
from tools import {name}

def run(model, images, optimizer):
    with torch.autocast("cuda"):
        {name}(model, images)
"""
HELPER = """
def {name}(model, images):
    for _ in range(9):
        model(images).sum().backward()
"""


@pytest.mark.parametrize(("name", "expected"), [("profile", []), ("propagate", ["AMP201"])])
def test_what_the_helper_is_for(tmp_path: Path, name: str, expected: list[str]) -> None:
    root = project(tmp_path, run=CALLER.format(name=name), tools=HELPER.format(name=name))
    assert codes(root, "run.py") == expected


HALF = """
import torch

def train(net, loader, criterion):
    {cast}
    optimizer = torch.optim.SGD(net.{part}parameters(), lr=0.1)
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            criterion(net(images), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
            criterion(net(images.flip(0)), labels).backward()
"""


@pytest.mark.parametrize(
    ("cast", "expected"),
    [
        ("net.to(torch.bfloat16)", ["AMP201", "AMP201"]),
        ("net = net.half()", ["AMP201", "AMP201"]),
        ("net.to(torch.float64)", ["AMP212"]),
        ("if len(loader) > 9:\n        net.to(torch.bfloat16)", ["AMP212"]),
        ("net.encoder.to(torch.bfloat16)", ["AMP212"]),
    ],
)
def test_weights_that_are_half_anyway_are_not_copied(tmp_path: Path, cast: str, expected: list[str]) -> None:
    root = project(tmp_path, run=HALF.format(cast=cast, part=""))
    assert codes(root, "run.py") == expected


def test_a_part_of_a_half_model_is_half(tmp_path: Path) -> None:
    root = project(tmp_path, run=HALF.format(cast="net.to(torch.bfloat16)", part="decoder."))
    assert codes(root, "run.py") == ["AMP201", "AMP201"]
