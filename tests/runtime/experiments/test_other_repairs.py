"""Repairs that are not the fix of the rule, where what is run stands for that fix."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checkout import ROOT

from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import never_applied
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source

torch = pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.replay.finding_replay import replay  # noqa: E402

RULE = next(rule for rule in load_rules() if rule.code == "AMP112")
LOOP = """\
import torch


def train(model, criterion, loader, optimizer):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        (loss * 1024).backward()
        for parameter in model.parameters():
            parameter.grad.div_(1024)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""


def judged(old: str = "", new: str = "") -> Outcome:
    """What becomes of the fix of the rule, with something else in the place of a part of it."""
    source = Source("train.py", LOOP)
    report = check_source(source, Settings(ROOT, select=("AMP112",)), ROOT / source.path)
    (diagnostic,) = never_applied(report)
    fixed, _ = apply(source, [diagnostic])
    assert old in fixed
    return replay(source, replace(source, text=fixed.replace(old, new)), diagnostic, RULE, EMULATED, 0)


def test_the_fix_of_the_rule_is_confirmed_however_it_is_laid_out() -> None:
    assert judged().verdict == CONFIRMED
    assert judged("scaler.update()", "scaler.update()  # once for each step").verdict == CONFIRMED


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("        scaler.unscale_(optimizer)\n", "", "the defect clip-before-unscale"),
        ("        scaler.update()\n", "", "the defect missing-update"),
        ('GradScaler("cuda")', 'GradScaler("cuda", enabled=False)', "the scaler, which is switched off, is lost"),
        ('with torch.amp.autocast("cuda", dtype=torch.float16):', "with torch.no_grad():", "a region is lost"),
        ("        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", "", "clipping is lost"),
    ],
)
def test_what_is_new_or_lost_beside_it_refutes_a_repair(old: str, new: str, said: str) -> None:
    outcome = judged(old, new)
    assert outcome.verdict == REFUTED
    assert said in outcome.reason


def test_what_else_a_repair_changes_is_named() -> None:
    outcome = judged("scaler.scale(loss).backward()", "scaler.scale(loss * data.mean()).backward()")
    assert outcome.verdict == NOT_REPLAYABLE
    assert outcome.reason == "the change does more than is replayed: `scaler.scale(loss * data.mean()).backward()`"


def test_another_value_of_the_loss_refutes_a_repair() -> None:
    outcome = judged("scaler.scale(loss).backward()", "scaler.scale(-loss).backward()")
    assert (outcome.verdict, outcome.reason) == (
        REFUTED,
        "with the fix, the loss that is run backward is not what is meant",
    )
