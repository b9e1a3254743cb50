"""A criterion of another file is called outside the region, on what a model gave inside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

CRITERIA = """
import torch
import torch.nn.functional as F


class Criterion:
    def __init__(self, weight):
        self.weight = weight
        self.bce = torch.nn.BCEWithLogitsLoss(reduction="none")

    def __call__(self, outputs, targets):
        scores = torch.cat([each.flatten(1) for each in outputs], 1)
        return self.weight * {loss}
"""
TRAIN = """
import torch
from criteria import Criterion


def train(model, loader, optimizer, scaler):
    criterion = Criterion(0.5)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(x)
{call}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
OUTSIDE = "        loss = criterion(outputs, y)"
FOUND = {"criteria.py:13 AMP211"}


def found(root: Path, loss: str, call: str = OUTSIDE) -> set[str]:
    files = {"criteria": CRITERIA.format(loss=loss), "train": TRAIN.format(call=call)}
    return found_in(project(root, **files), select=("AMP211",))


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(scores, targets)",
        "self.bce(scores, targets.to(scores.dtype)).mean()",
        "F.binary_cross_entropy_with_logits(scores, targets.half())",
    ],
)
def test_it_classifies_in_half(tmp_path: Path, loss: str) -> None:
    assert found(tmp_path, loss) == FOUND


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(scores.float(), targets)",
        "self.bce(scores, targets.float()).mean()",
        "F.mse_loss(scores, targets)",
        "F.l1_loss(scores, scores.detach())",
    ],
)
def test_it_widens_or_may_be_given_anything(tmp_path: Path, loss: str) -> None:
    assert found(tmp_path, loss) == set()


@pytest.mark.parametrize(
    "call",
    ["            loss = criterion(outputs, y)", "        loss = criterion([each.float() for each in outputs], y)"],
)
def test_it_is_called_in_the_region_or_on_float32(tmp_path: Path, call: str) -> None:
    assert found(tmp_path, "F.cross_entropy(scores, targets)", call) == set()
