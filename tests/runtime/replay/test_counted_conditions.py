"""Conditions about counters, which a repair puts in, are evaluated: what counts begins with a number, and is added to."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, REFUTED
from amplint.source import Source

RULE = next(rule for rule in load_rules() if rule.code == "AMP105")
PROGRAM = """\
import torch


def train(model, loader, criterion, optimizer, iterations):
    scaler = torch.amp.GradScaler("cuda")
    {begin}
    {loop}
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(loader.x), loader.y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        {count}
"""


def verdict(begin: str, loop: str, test: str, count: str) -> str:
    """The verdict on an update at the head of an iteration, behind a condition."""
    text = PROGRAM.format(begin=begin, loop=loop, count=count)
    update = f"        if {test}:\n            scaler.update()\n"
    before, after = (Source("train.py", each) for each in (text, text.replace(f"{loop}\n", f"{loop}\n{update}")))
    (diagnostic,) = lint_source(before, [RULE]).diagnostics
    return replay(before, after, diagnostic, RULE, "cuda-emulated", 0).verdict


COUNTED = "done = 0", "while done < iterations:", "done += 1"
ENUMERATED = "pass", "for i, batch in enumerate(loader):", "pass"


@pytest.mark.parametrize("test", ["done", "done > 0", "not done == 0", "done >= 1"])
def test_an_update_from_the_second_iteration_on_is_right(test: str) -> None:
    begin, loop, count = COUNTED
    assert verdict(begin, loop, test, count) == CONFIRMED
    assert verdict(begin, loop, test, "done = done + 1") == CONFIRMED


@pytest.mark.parametrize(
    ("begin", "loop", "test", "count"),
    [
        ("done = 1", "while iterations:", "done > 1", "done += 1"),
        ("left = 0", "while iterations:", "left < 0", "left -= 1"),
        ("pass", "for i, batch in enumerate(loader):", "i", "pass"),
        ("pass", "for i, batch in enumerate(loader, 1):", "i != 1", "pass"),
        ("pass", "for i in range(1, iterations):", "i > 1", "pass"),
    ],
)
def test_loops_count_as_well(begin: str, loop: str, test: str, count: str) -> None:
    assert verdict(begin, loop, test, count) == CONFIRMED


@pytest.mark.parametrize("test", ["done > 1", "done == 0", "done == 1", "done < 3", "done < 100", "done > 100"])
def test_an_update_at_other_times_is_wrong(test: str) -> None:
    begin, loop, count = COUNTED
    assert verdict(begin, loop, test, count) == REFUTED


@pytest.mark.parametrize("test", ["i > 1", "i < 3", "i % 2"])
def test_nor_is_one_that_a_loop_counts(test: str) -> None:
    begin, loop, count = ENUMERATED
    assert verdict(begin, loop, test, count) == REFUTED


def test_what_only_a_run_knows_is_not_evaluated() -> None:
    begin, loop, _ = COUNTED
    assert verdict(begin, loop, "done", "done += loader.size") != CONFIRMED
