"""A run of a million steps: what is kept of it can be held, and drawn."""

from __future__ import annotations

import math

from amplint.report.trace.json_rows import step_row
from amplint.tracing.sampling import Sampling
from amplint.tracing.step_record import StepRecord

NAMES = tuple(f"Transformer.layers.{number}.attention.projection.weight" for number in range(12))


def test_a_million_steps_take_less_than_50_mb() -> None:
    sampling, size, kept = Sampling(), 0, 0
    for number in range(1, 1_000_001):
        skipped = number % 3 == 0  # a run that goes wrong all the time
        step = StepRecord(
            number, "train.py:100", "optimizer#1", not skipped,
            scale=65536.0, loss=1 / number, norm=math.inf if skipped else 1 / (number + 1),
            unclipped=1 / (number + 2), kept=1 / (number + 3), rates=(1 / (number + 4), 1 / (number + 5)),
            nonfinite=NAMES if skipped else (), because="train.py:100: overflow: 70123.5 is beyond 65504" if skipped else "",
        )  # fmt: skip
        if sampling.keeps(step):
            kept += 1
            if kept % 50 == 0:
                size += 50 * len(step_row(step))
    assert kept < 40_000
    assert size < 50_000_000


def test_short_runs_are_kept_whole() -> None:
    sampling = Sampling()
    steps = [StepRecord(number, "train.py:1", "optimizer#1", True) for number in range(1, 12_001)]
    assert [step.number for step in steps if sampling.keeps(step)] == [*range(1, 10_001), *range(10_010, 12_001, 10)]
