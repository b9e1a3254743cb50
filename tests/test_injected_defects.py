"""Each change of benchmarks/injected_defects puts a defect into a right program, that amplint finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

PROGRAM = ROOT / "benchmarks" / "injected_defects" / "inject.py"

TRAIN = """\
import torch
from torch import nn


def train(model, loader, criterion, optimizer, second, scheduler, epochs, path):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                outputs = model(images)
                loss = criterion(outputs, labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.step(second)
            scaler.update()
        scheduler.step()
        torch.save({"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, path)


def resume(optimizer, scaler, path):
    kept = torch.load(path)
    optimizer.load_state_dict(kept["optimizer"])
    scaler.load_state_dict(kept["scaler"])


def run(loader, epochs, path):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).cuda()
    optimizer = torch.optim.SGD(model[0].parameters(), 0.1)
    second = torch.optim.SGD(model[2].parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    train(model, loader, nn.CrossEntropyLoss(), optimizer, second, scheduler, epochs, path)
    evaluate(model, loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = 0
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(images)
        right += (outputs.argmax(1) == labels).sum().item()
    return right
"""

WARM_UP = """\
import torch


def warm_up(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()
"""


def injected(tmp_path: Path, *options: str, **files: str) -> tuple[list[dict[str, object]], str, str]:
    """What the program writes on a repository of some files: the outcomes, and both its outputs."""
    tree = tmp_path / "repository"
    tree.mkdir()
    for name, text in files.items():
        (tree / f"{name}.py").write_text(text)
    written = tmp_path / "outcomes"
    command = [sys.executable, str(PROGRAM), str(tree), "--output", str(written), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert {path.stem: path.read_text() for path in tree.iterdir()} == files
    lines = written.read_text().splitlines() if written.exists() else []
    return [json.loads(line) for line in lines], done.stdout, done.stderr


def test_every_kind_of_change_is_made_and_found(tmp_path: Path) -> None:
    known, printed, _ = injected(tmp_path, train=TRAIN, warm_up=WARM_UP)
    kinds = re.findall(r'^@_kind\("(\w+)"', PROGRAM.with_name("changes.py").read_text(), re.MULTILINE)
    assert [one["kind"] for one in known] == kinds
    assert [one["kind"] for one in known if not one["found"]] == []
    assert "| `update` is taken out | AMP105 | 1 of 1 |" in printed


def test_a_place_is_missed_where_nobody_can_tell(tmp_path: Path) -> None:
    unseen = "def back(scaler, loss):\n    scaler.scale(loss).backward()\n"
    known, printed, _ = injected(tmp_path, "--kinds", "scale", "step", back=unseen)
    assert [(one["kind"], one["line"], one["found"]) for one in known] == [("scale", 2, False)]
    assert "repository/back.py:2 scale missed" in printed


@pytest.mark.parametrize(
    "text", ["def (:\n    scaler.update()\n", "while True:\n\tscaler.update()\n"], ids=["invalid", "tabs"]
)
def test_files_that_are_no_python_or_indented_by_tabs_are_left_out(tmp_path: Path, text: str) -> None:
    known, _, errors = injected(tmp_path, odd=text)
    assert (known, errors) == ([], "")


def test_large_repositories_are_passed_over(tmp_path: Path) -> None:
    known, _, errors = injected(tmp_path, "--files", "1", train=TRAIN, other="x = 1\n")
    assert (known, errors) == ([], "")
