"""Neighbouring schedules share one gate, which is worked out once."""

from __future__ import annotations

import importlib

import pytest

from amplint.diagnostics import Fix
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.source import Source

gates = importlib.import_module("amplint_rules._support.scheduler_gate")
LOOP = """
import torch

def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
{made}
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
{steps}
"""


def loop(count: int, between: str = "") -> str:
    """A training loop that advances so many schedules one after the other."""
    made = "\n".join(f"    schedule{each} = torch.optim.lr_scheduler.StepLR(optimizer, 1)" for each in range(count))
    steps = f"\n{between}".join(f"        schedule{each}.step()" for each in range(count))
    return LOOP.format(made=made, steps=steps)


@pytest.mark.parametrize(("between", "expected"), [("", 1), ("        log(batch)\n", 12)])
def test_gates_are_worked_out_once_for_neighbours(monkeypatch: pytest.MonkeyPatch, between: str, expected: int) -> None:
    worked_out: list[tuple[object, ...]] = []
    work_out = gates._gate

    def noted(*given: object) -> Fix | None:
        worked_out.append(given)
        repair: Fix | None = work_out(*given)
        return repair

    monkeypatch.setattr(gates, "_gate", noted)
    rules = [rule for rule in load_rules() if rule.code == "AMP107"]
    report = lint_source(Source("train.py", loop(12, between)), rules)
    assert [each.code for each in report.diagnostics] == ["AMP107"] * 12
    assert len(worked_out) == expected
