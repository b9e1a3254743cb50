"""Programs of which only some findings can be fixed: those are, and the others stay."""

from __future__ import annotations

import textwrap

import pytest

from amplint.engine.fixer import fix_source
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.source import Source

REGION = """
    import torch

    def train(model, labelled, unlabelled, criterion, consistency, optimizer):
        for (x, y), u in zip(labelled, unlabelled):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = criterion(model(x), y)
                loss.backward()
                extra = consistency(model(u), model(u.flip(-1)))
                extra.backward()
            optimizer.step()
"""
ALIAS = """
    import torch

    lower = torch.cuda.amp.autocast

    def evaluate(model, images):
        with lower(True):
            return model(images), model(images)
"""
INEFFECTIVE = """
    import torch
    from torch.cuda.amp import autocast

    def train(model, criterion, loader, optimizer):
        for x, y in loader:
            with autocast(dtype=torch.float32):
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
"""
PARTS = {
    "a backward pass before another forward": (REGION, "            extra.b", "        extra.b", ["AMP201"]),
    "a class that is handed on": (ALIAS, "lower(True)", 'torch.amp.autocast("cuda", enabled=True)', ["AMP209"]),
    "a dtype that lowers nothing": (INEFFECTIVE, "with autocast(", 'with torch.amp.autocast("cuda", ', ["AMP210"]),
}


@pytest.mark.parametrize("part", PARTS)
def test_what_can_be_fixed_is_and_the_rest_stays(part: str) -> None:
    program, before, after, left = PARTS[part]
    text = textwrap.dedent(program)
    rules = [rule for rule in load_rules() if rule.default]
    outcome = fix_source(Source("train.py", text), lambda source: lint_source(source, rules), unsafe=True)
    wanted = text.replace(before, after).replace("from torch.cuda.amp import autocast\n", "")
    assert (outcome.text, outcome.error) == (wanted, "")
    assert [each.code for each in outcome.report.diagnostics] == left
