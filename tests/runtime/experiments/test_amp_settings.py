"""Regions and scalers with all their settings: what a repair of a finding about them may spell otherwise, and what it may not."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source

RULES = {rule.code: rule for rule in load_rules()}
FLAG = """\
import torch
from torch import nn

PRECISION = torch.float16

def evaluate(model, loader, fast):
    with torch.no_grad():
        for x in loader:
            with torch.cuda.amp.autocast(enabled=fast, dtype=PRECISION):
                yield model(x)
"""
SCALER = """\
import torch

def build(use_amp):
    return torch.cuda.amp.GradScaler(init_scale=2.0**12, enabled=use_amp)
"""
LOOP = """\
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        scaler = torch.amp.GradScaler("cuda")
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def outcome(code: str, text: str, written: str = "", instead: str = "") -> Outcome:
    """The outcome of the first finding in a text, with its fix changed further."""
    source, rule = Source("train.py", text), RULES[code]
    found = next(one for one in lint_source(source, [rule]).diagnostics if one.fix is not None)
    fixed, _ = apply(source, [found])
    assert written in fixed, fixed
    return replay(source, Source("train.py", fixed.replace(written, instead)), found, rule, "cuda-emulated", 0)


REGION = 'torch.amp.autocast("cuda", enabled=fast, dtype=PRECISION)'


@pytest.mark.parametrize(
    "instead",
    [
        REGION,
        'torch.autocast("cuda", enabled=fast, dtype=PRECISION)',
        'torch.autocast(device_type="cuda", dtype=torch.float16, enabled=fast)',
        'torch.amp.autocast("cuda", torch.half, fast, True)',
        'torch.amp.autocast("cuda", enabled=fast)',
    ],
)
def test_another_spelling_of_a_region_is_the_same(instead: str) -> None:
    found = outcome("AMP209", FLAG, REGION, instead)
    assert found.verdict == CONFIRMED, found


@pytest.mark.parametrize(
    "instead",
    [
        'torch.amp.autocast("cuda", enabled=not fast, dtype=PRECISION)',
        'torch.amp.autocast("cuda", enabled=False, dtype=PRECISION)',
        'torch.amp.autocast("cuda", dtype=PRECISION)',
        'torch.amp.autocast("cpu", enabled=fast, dtype=PRECISION)',
        'torch.amp.autocast("cuda", enabled=fast, dtype=torch.bfloat16)',
        'torch.amp.autocast("cuda", enabled=fast, dtype=PRECISION, cache_enabled=False)',
        'torch.amp.autocast("cuda", fast)',
        "torch.no_grad()",
    ],
)
def test_another_setting_of_a_region_is_no_fix(instead: str) -> None:
    found = outcome("AMP209", FLAG, REGION, instead)
    assert found.verdict == REFUTED, found


def test_a_constant_that_becomes_another_one_is_no_fix() -> None:
    assert outcome("AMP209", FLAG, "PRECISION = torch.float16", "PRECISION = torch.bfloat16").verdict == REFUTED


@pytest.mark.parametrize(
    ("flag", "opposite"),
    [
        ("mode == 1", "mode != 1"), ("mode != 1", "mode == 1"), ("mode < 1", "mode >= 1"), ("mode is None", "mode is not None"),
        ("mode in ready", "mode not in ready"), ("mode", "not mode"), ("not mode", "mode"), ("a and b", "not (a and b)"),
    ],
)  # fmt: skip
def test_the_opposite_of_a_flag_is_no_fix(flag: str, opposite: str) -> None:
    text = FLAG.replace("enabled=fast", f"enabled={flag}")
    assert outcome("AMP209", text).verdict == CONFIRMED
    assert outcome("AMP209", text, f"enabled={flag}", f"enabled={opposite}").verdict == REFUTED


@pytest.mark.parametrize(
    "instead",
    ["init_scale=2.0**24", "init_scale=2.0**12, growth_factor=1.5", "init_scale=2.0**12, growth_interval=7"],
)
def test_all_settings_of_a_scaler_are_compared(instead: str) -> None:
    assert outcome("AMP209", SCALER).verdict == CONFIRMED
    assert outcome("AMP209", SCALER, "init_scale=2.0**12", "init_scale=4096").verdict == CONFIRMED
    found = outcome("AMP209", SCALER, "init_scale=2.0**12", instead)
    assert found.verdict == REFUTED, found


@pytest.mark.parametrize(
    ("written", "instead", "reason"),
    [
        ('GradScaler("cuda")', 'GradScaler("cuda", enabled=False)', "switched off"),
        ('GradScaler("cuda")', 'GradScaler("cuda", init_scale=1.0)', "a loss scale that moves"),
        ('GradScaler("cuda")', 'GradScaler("cuda", growth_interval=10**9)', "a loss scale that moves"),
        ("dtype=torch.float16", "enabled=False", "switched off"),
        ("        scaler.update()\n", "", "AMP105"),
        ("scaler.step(optimizer)", "optimizer.step()", "AMP104"),
    ],
)
def test_a_fix_of_something_else_leaves_mixed_precision_in_force(written: str, instead: str, reason: str) -> None:
    assert outcome("AMP113", LOOP).verdict == CONFIRMED
    found = outcome("AMP113", LOOP, written, instead)
    assert found.verdict == REFUTED and reason in found.reason, found


def test_what_a_template_does_not_stand_for_is_named() -> None:
    found = outcome("AMP113", LOOP, "criterion(model(x), y)", "criterion(model(x), 1 - y)")
    assert found.verdict == NOT_REPLAYABLE and "loss = criterion(model(x), 1 - y)" in found.reason, found


def test_another_value_of_the_loss_is_no_fix_of_something_else() -> None:
    found = outcome("AMP113", LOOP, "loss = criterion", "loss = 2 * criterion")
    assert found.verdict == REFUTED and "the loss that is run backward is not what is meant" in found.reason, found
