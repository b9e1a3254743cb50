"""Code that does by itself what a template takes for undone: the template does not stand for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, Outcome
from amplint.source import Source

BY_HAND = """
import torch

def train(model, criterion, loader, optimizer):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        (loss * 1024).backward()
        for parameter in model.parameters():
            parameter.grad.div_(1024)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite={raises})
        optimizer.step()
"""
PENALTY = """
import torch

def penalty(critic, x, scaler):
    with torch.autocast("cuda", dtype=torch.float16):
        scores = critic(x)
    grad = torch.autograd.grad(scores.sum() * {factor}, x, create_graph=True)[0] / {factor}
    loss = (grad.norm() - 1) ** 2
    scaler.scale(loss).backward()
"""
PARTIAL = """
from functools import partial
import torch

def run(model, x):
    region = partial(torch.autocast, "cuda", dtype=torch.bfloat16)
    with region:
        return model(x)
"""


def outcome(code: str, text: str) -> Outcome:
    """What becomes of the fix of a rule."""
    rule = next(each for each in load_rules() if each.code == code)
    source = Source("train.py", text)
    (found,) = lint_source(source, [rule]).diagnostics
    return replay(source, replace(source, text=apply(source, [found])[0]), found, rule, EMULATED, 0)


@pytest.mark.parametrize(("raises", "verdict"), [("False", CONFIRMED), ("True", NOT_REPLAYABLE)])
def test_gradients_that_overflow_raise_an_error(raises: str, verdict: str) -> None:
    assert outcome("AMP112", BY_HAND.format(raises=raises)).verdict == verdict


@pytest.mark.parametrize(("factor", "verdict"), [("0.5", CONFIRMED), ("4096", NOT_REPLAYABLE)])
def test_outputs_are_scaled_by_hand(factor: str, verdict: str) -> None:
    assert outcome("AMP116", PENALTY.format(factor=factor)).verdict == verdict


def test_a_partial_raises_the_error_of_a_partial() -> None:
    seen = outcome("AMP204", PARTIAL)
    assert seen.verdict == CONFIRMED
    assert "partial" in str(seen.before["error raised"])
