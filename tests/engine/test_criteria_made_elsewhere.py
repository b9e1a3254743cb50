"""The loop calls a criterion that another file makes: one that it is given, or one that a function gives back."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, found_in, project

from amplint.diagnostics import SAFE

LOOP = """
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(x)
        loss = criterion(logits, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
ENGINE = f"""
import torch


def train_one_epoch(model, criterion, loader, optimizer, scaler):
{LOOP}
"""
MAIN = """
import torch
import torch.nn as nn
from torch.nn import CrossEntropyLoss
from engine import train_one_epoch


class Ranked(nn.Module):
    def forward(self, logits, target):
        return (logits - target).relu().float().mean()


def make(args):
    return nn.CrossEntropyLoss(label_smoothing=args.smoothing)


def main(args, model, loader):
    {made}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        train_one_epoch(model, {given}, loader, optimizer, scaler)
"""
FOUND = {"engine.py:11 AMP211"}


def found(root: Path, **files: str) -> set[str]:
    return found_in(project(root, **files), select=("AMP211",))


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("criterion = nn.CrossEntropyLoss()", "criterion"),
        ("criterion = CrossEntropyLoss(weight=args.weight).cuda()", "criterion"),
        ("loss = nn.CrossEntropyLoss() if args.smooth else make(args)", "loss"),
        ("criterion = make(args)\n    criterion = criterion.to(args.device)", "criterion"),
        ("model, criterion = model.cuda(), make(args)", "criterion"),
        ("args.steps = 1", "nn.BCEWithLogitsLoss()"),
    ],
)
def test_a_criterion_that_is_given(tmp_path: Path, made: str, given: str) -> None:
    assert found(tmp_path, engine=ENGINE, main=MAIN.format(made=made, given=given)) == FOUND


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("criterion = Ranked()", "criterion"),
        ("criterion = nn.CrossEntropyLoss() if args.smooth else Ranked()", "criterion"),
        ("criterion = nn.CrossEntropyLoss() if args.smooth else nn.MSELoss()", "criterion"),
        ("criterion = args.criterion", "criterion"),
        ("criterion = nn.MSELoss()", "criterion"),
        ("criterion = lambda logits, y: nn.CrossEntropyLoss()(logits.float(), y)", "criterion"),
    ],
)
def test_a_criterion_that_may_be_another_one_or_may_be_given_anything(tmp_path: Path, made: str, given: str) -> None:
    assert found(tmp_path, engine=ENGINE, main=MAIN.format(made=made, given=given)) == set()


def test_calls_that_give_different_criteria(tmp_path: Path) -> None:
    main = MAIN.format(made="criterion = nn.CrossEntropyLoss()", given="criterion")
    other = MAIN.format(made="criterion = Ranked()", given="criterion")
    assert found(tmp_path, engine=ENGINE, main=main, other=other) == set()


def test_a_gradient_that_is_scaled_in_half(tmp_path: Path) -> None:
    """Only where the mean divides it: what a loss is told to give back matters."""
    engine = ENGINE.replace("criterion(logits, y)", "criterion(logits, y.float()).mean()")
    for given, expected in (("nn.BCEWithLogitsLoss()", FOUND), ("nn.BCEWithLogitsLoss(reduction='none')", set())):
        root = tmp_path / str(len(expected))
        assert found(root, engine=engine, main=MAIN.format(made="model.cuda()", given=given)) == expected


TRAINER = """
import torch
from losses import build


class Trainer:
    def __init__(self, model, criterion, optimizer):
        self.model, self.optimizer = model, optimizer
        self.criterion = {kept}
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, loader):
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                logits = self.model(x)
            loss = self.criterion(logits, y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
"""
LOSSES = """
from torch import nn


def build(name):
    {made}
"""
STARTS = """
from losses import build
from trainer import Trainer


def main(model, optimizer, loader):
    Trainer(model, criterion=build("ce"), optimizer=optimizer).fit(loader)
"""


@pytest.mark.parametrize("kept", ["criterion", "build('ce')"])
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("return nn.CrossEntropyLoss().cuda()", {"trainer.py:16 AMP211"}),
        ("return nn.L1Loss()", set()),
        ("return nn.CrossEntropyLoss() if name == 'ce' else nn.L1Loss()", set()),
    ],
)
def test_a_criterion_that_a_function_of_a_third_file_makes(
    tmp_path: Path, kept: str, made: str, expected: set[str]
) -> None:
    files = {"trainer": TRAINER.format(kept=kept), "losses": LOSSES.format(made=made), "main": STARTS}
    assert found(tmp_path, **files) == expected


def test_a_call_in_the_same_file_is_followed_there(tmp_path: Path) -> None:
    """With what else it gives, so that the fix is as safe as before."""
    files = {"engine": ENGINE + MAIN.replace("from engine import train_one_epoch\n", "")}
    made = "criterion, model = nn.CrossEntropyLoss(), nn.Linear(64, 10)"
    root = project(tmp_path, engine=files["engine"].format(made=made, given="criterion"))
    (finding,) = [each for each in check(root, "engine.py").diagnostics if each.code == "AMP211"]
    assert finding.fix is not None and finding.fix.applicability is SAFE
    assert not any(each.path for each in finding.related)
    assert found(root) == FOUND


IN_REGION = ENGINE.replace(
    "        loss = criterion(logits, y)", "            loss = criterion(torch.sigmoid(logits), y)"
)
REFUSED = {"engine.py:11 AMP304"}


@pytest.mark.parametrize(
    ("made", "given", "expected"),
    [
        ("criterion = nn.BCELoss()", "criterion", REFUSED),
        ("criterion = nn.BCELoss().cuda()", "criterion", REFUSED),
        ("args.steps = 1", "nn.BCELoss()", REFUSED),
        ("criterion = nn.BCELoss() if args.binary else nn.MSELoss()", "criterion", set()),
        ("criterion = nn.BCEWithLogitsLoss()", "criterion", set()),
        ("criterion = args.criterion", "criterion", set()),
    ],
)
def test_one_that_autocast_refuses_is_called_in_the_region(
    tmp_path: Path, made: str, given: str, expected: set[str]
) -> None:
    root = project(tmp_path, engine=IN_REGION, main=MAIN.format(made=made, given=given))
    assert found_in(root, select=("AMP304",)) == expected
