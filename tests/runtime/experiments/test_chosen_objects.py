"""Patches of regions that a version check chooses: the choice may move, and may not become another one."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from checkout import ROOT

from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED
from amplint.source import Source

RULES = {rule.code: rule for rule in load_rules()}
BEFORE = """\
import torch

if torch.__version__.startswith("1.8"):
    Autocast = torch.cuda.amp.autocast
    GradScaler = torch.cuda.amp.GradScaler
else:
    Autocast = torch.amp.autocast
    GradScaler = torch.amp.GradScaler


def train(model, loader, criterion, optimizer, amp):
    scaler = GradScaler(enabled=amp)
    for images, targets in loader:
        optimizer.zero_grad()
        if torch.__version__.startswith("1.8"):
            torch.cuda.amp.autocast(enabled=amp)
        else:
            torch.amp.autocast("cuda", enabled=amp)
        with Autocast(enabled=amp):
            outputs = model(images)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
AFTER = """\
import torch


def train(model, loader, criterion, optimizer, amp):
    scaler = None
    if torch.__version__.startswith("1.8"):
        scaler = torch.cuda.amp.GradScaler(enabled=amp)
    else:
        scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for images, targets in loader:
        optimizer.zero_grad()
        region = None
        if torch.__version__.startswith("1.8"):
            region = torch.cuda.amp.autocast(enabled=amp)
        else:
            region = torch.amp.autocast("cuda", enabled=amp)
        with region:
            outputs = model(images)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
CHOICE = '        region = None\n        if torch.__version__.startswith("1.8"):\n'


def verdicts(after: str, before: str = BEFORE) -> list[str]:
    """What becomes of the region that lacks a device type, and of those that are dropped."""
    found = check_source(Source("train.py", before), Settings(ROOT, select=("AMP204", "AMP205")), ROOT / "train.py")
    assert len(found.diagnostics) == 3
    return [
        replay(Source("train.py", before), Source("train.py", after), one, RULES[one.code], EMULATED, 0, True).verdict
        for one in found.diagnostics
    ]


def test_objects_chosen_in_the_place_of_classes_are_confirmed() -> None:
    assert verdicts(AFTER) == [CONFIRMED] * 3


def test_regions_that_are_dropped_are_none_that_are_lost() -> None:
    """Also where nothing outside of the function has changed."""
    head = BEFORE[: BEFORE.index("def train")]
    assert verdicts(AFTER.replace("import torch\n\n\n", head)) == [CONFIRMED] * 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('region = torch.amp.autocast("cuda"', 'region = torch.amp.autocast("cpu"'),
        ('region = torch.amp.autocast("cuda", enabled=amp)', 'region = torch.amp.autocast("cuda", enabled=False)'),
        ('region = torch.amp.autocast("cuda", enabled=amp)', 'region = torch.amp.autocast("cuda", enabled=not amp)'),
        ('region = torch.amp.autocast("cuda", enabled=amp)', 'torch.amp.autocast("cuda", enabled=amp)'),
        ('region = torch.amp.autocast("cuda", enabled=amp)', "pass"),
        (CHOICE, CHOICE.replace("if torch", "if not torch")),
        (CHOICE, CHOICE.replace("1.8", "1.9")),
        ("with region:\n            outputs = model(images)\n", "outputs = model(images)\n        with region:\n"),
        ("        with region:\n", "        region = None\n        with region:\n"),
        ("with region:", "with torch.no_grad():"),
        ("            loss = criterion(outputs, targets)\n", "        loss = criterion(outputs, targets)\n"),
        ("            loss = criterion(outputs, targets)\n", "            loss = criterion(outputs, targets) * 0\n"),
        ('scaler = torch.amp.GradScaler("cuda", enabled=amp)', 'scaler = torch.amp.GradScaler("cuda", enabled=False)'),
        ('scaler = torch.amp.GradScaler("cuda", enabled=amp)', "scaler = None"),
        ("        scaler.update()\n", "        scaler.update(1.0)\n"),
    ],
)  # fmt: skip
def test_another_choice_is_not_confirmed(old: str, new: str) -> None:
    assert AFTER.count(old) == 1
    assert CONFIRMED not in verdicts(AFTER.replace(old, new))


def test_a_region_that_is_kept_and_not_entered_is_not_confirmed() -> None:
    kept = BEFORE.replace("            torch.cuda", "            region = torch.cuda")
    kept = kept.replace("            torch.amp", "            region = torch.amp")
    assert CONFIRMED not in verdicts(kept)


def test_how_far_a_dropped_region_was_to_reach_is_not_known() -> None:
    before = BEFORE.replace("with Autocast(enabled=amp):", 'with torch.autocast("cpu"):')
    after = AFTER.replace("            loss = criterion", "        loss = criterion")
    found = check_source(Source("train.py", before), Settings(ROOT, select=("AMP204",)), ROOT / "train.py").diagnostics
    told = [
        replay(Source("train.py", before), Source("train.py", after), one, RULES[one.code], EMULATED, 0, True)
        for one in found
    ]
    assert told and all(one.verdict != CONFIRMED for one in told)
