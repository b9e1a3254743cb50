"""The model comes from one file, the loss from another one, and the loop stands in a third."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

NETS = """
import torch.nn as nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(64, 8, 1)

    def forward(self, x):
        return {out}
"""
LOSSES = """
import torch.nn as nn


class SoftFocal(nn.Module):
    def forward(self, logits, target):
        p = logits.sigmoid()
        return -((p + 1e-12).log() * target).mean()


def soft_bce(logits, target):
    p = logits.sigmoid()
    return -((p + 1e-12).log() * target).mean()
"""
TRAIN = """
import torch
from losses import SoftFocal, soft_bce
from nets import Head


def fit(loader):
    head = Head().cuda()
    criterion = SoftFocal()
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            out = head(x)
            loss = {loss}
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
IN_CLASS, IN_FUNCTION = "losses.py:8 AMP301", "losses.py:13 AMP301"


def found(root: Path, loss: str, out: str = "self.conv(x)") -> set[str]:
    files = {"nets": NETS.format(out=out), "losses": LOSSES, "train": TRAIN.format(loss=loss)}
    return found_in(project(root, **files), select=("AMP301",))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("criterion(out, y)", {IN_CLASS}),
        ("soft_bce(out, y)", {IN_FUNCTION}),
        ("criterion(out, y) + soft_bce(out, y)", {IN_CLASS, IN_FUNCTION}),
        ("soft_bce(out.float(), y)", set()),
    ],
)
def test_what_the_model_gives_reaches_the_loss(tmp_path: Path, loss: str, expected: set[str]) -> None:
    assert found(tmp_path, loss) == expected


def test_a_model_that_gives_float32(tmp_path: Path) -> None:
    assert found(tmp_path, "soft_bce(out, y)", out="self.conv(x).float()") == set()


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("normal(out, y)", set()),
        ("out.sum()", {"nets.py:11 AMP301"}),
    ],
)
def test_a_loss_may_normalise_the_exponential_of_the_model(tmp_path: Path, loss: str, expected: set[str]) -> None:
    """As the density of a normal distribution does, whose width is an exponential."""
    losses = """
        def normal(width, target):
            return ((target / width) ** 2 / 2 + width.log()).mean()
    """
    train = TRAIN.replace("import SoftFocal, soft_bce", "import normal").replace("criterion = SoftFocal()", "")
    files = {"nets": NETS.format(out="self.conv(x).exp()"), "losses": losses, "train": train.format(loss=loss)}
    assert found_in(project(tmp_path, **files), select=("AMP301",)) == expected
