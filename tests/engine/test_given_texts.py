"""The text that a constructor is given decides what an object of another file is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from loss_and_loop import engine, numerics
from project import project

LOSSES = """
import torch
from torch import nn

class Kind:
    PLAIN = "plain"

class Critics(nn.Module):
    def __init__(self, weight=1.0, kind="squared"):
        super().__init__()
        self.weight, self.kind = weight, kind
        if kind == Kind.PLAIN or kind == "bce":
            self.loss = nn.BCELoss()
        elif self.kind not in ("hinge",):
            self.loss = nn.MSELoss()

    def forward(self, score, target):
        return self.weight * self.loss(score, target)

class Scaled(Critics):
    def __init__(self, kind):
        super().__init__(2.0, "plain")
        self.scaling = kind
"""
MAIN = """
from engine import train_one_epoch
from losses import Critics

def main(args, model, loader, optimizer, scaler):
    criterion = {making}
    train_one_epoch(model, criterion, loader, optimizer, scaler)
"""
SILENT = [
    "Critics(kind='squared')", "Critics(1.0, 'squared')", "Critics(kind='squared').cuda()",
    "Critics(kind='hinge') if args.hinge else Critics(args.weight, 'squared')",
]  # fmt: skip
FOUND = [
    "Critics(kind='plain')", "Critics(2, 'bce')", "Critics(kind=args.kind)", "Critics(1.0, *args.rest)",
    "Critics('squared', args.kind)", "Critics(kind='squared') if args.other else Critics(kind='bce')",
]  # fmt: skip


@pytest.mark.parametrize("making", SILENT)
def test_a_loss_of_another_option_is_not_told(tmp_path: Path, making: str) -> None:
    imports = f"from losses import Critics\nloss_fn = {making}"
    assert numerics(project(tmp_path / "one", losses=LOSSES, engine=engine("loss_fn(model(x), y)", imports))) == set()
    main = MAIN.format(making=making)
    assert (
        numerics(project(tmp_path / "two", losses=LOSSES, engine=engine("criterion(model(x), y)"), main=main)) == set()
    )


@pytest.mark.parametrize("making", FOUND)
def test_a_loss_of_the_option_and_of_any_is(tmp_path: Path, making: str) -> None:
    expected = {"losses.py:18 AMP304"}
    imports = f"from losses import Critics\nloss_fn = {making}"
    assert (
        numerics(project(tmp_path / "one", losses=LOSSES, engine=engine("loss_fn(model(x), y)", imports))) == expected
    )
    main = MAIN.format(making=making)
    assert (
        numerics(project(tmp_path / "two", losses=LOSSES, engine=engine("criterion(model(x), y)"), main=main))
        == expected
    )


def test_what_a_base_class_is_given_is_not_what_its_subclass_is(tmp_path: Path) -> None:
    loop = engine("loss_fn(model(x), y)", "from losses import Scaled\nloss_fn = Scaled('squared')")
    assert numerics(project(tmp_path, losses=LOSSES, engine=loop)) == {"losses.py:18 AMP304"}
