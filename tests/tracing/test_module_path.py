"""The modules that ran before a value that is not finite, and the largest value that each was given and gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import torch_amplint

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

from amplint.tracing.module_path import KEPT, way_of
from amplint.tracing.module_ranges import RangeSeen
from amplint.tracing.trace_record import TensorRange

SCRIPT = """\
import torch
from torch import nn


class Product(nn.Module):
    def forward(self, x):
        return self.widen(x) * 100

    def __init__(self):
        super().__init__()
        self.widen = nn.Linear(2, 2, bias=False)
        self.widen.weight.data.fill_(1000.0)


model = nn.Sequential(nn.Linear(1, 2, bias=False), Product(), nn.Linear(2, 1))
model[0].weight.data.fill_(2.0)
optimizer = torch.optim.SGD(model.parameters(), 0.0)
with torch.autocast("cuda", dtype=torch.float16):
    loss = model(torch.full((3, 1), 0.5, device="cuda")).sum()
loss.backward()
optimizer.step()
"""
WAY = [
    ("Sequential", 0.5, None),
    ("Sequential.0", 0.5, 1.0),
    ("Sequential.1", 1.0, None),
    ("Sequential.1.widen", 1.0, 2000.0),
]


@pytest.mark.parametrize("looks", [(), ("--ops",), ("--no-again",)], ids=["again", "operations", "modules"])
def test_the_way_to_the_first_value_is_told(tmp_path: Path, looks: tuple[str, ...]) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = torch_amplint(
        "trace", "--device", "cuda-emulated", *looks, "--output", "t.jsonl", "train.py", cwd=tmp_path, timeout=300
    )
    first = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[-1])["first"]
    assert first["module"] == "Sequential.1", done.stderr
    way = [
        (one["module"], *(each and each["largest"] for each in (one["given"], one["gave"]))) for one in first["before"]
    ]
    assert way == WAY
    assert "    Sequential.1.widen  float16 1 -> float16 2000\n" in done.stderr


def edge(module: str, largest: float, given: bool = False, backward: bool = False) -> RangeSeen:
    return RangeSeen(module, "Linear", None, given, backward, TensorRange("", "float32", (2,), largest, True))


def test_of_a_long_way_the_end_is_kept_and_what_it_runs_in() -> None:
    inside = [edge(f"Net.{number}", number, given) for number in range(100) for given in (True, False)]
    way = way_of([edge("Net", 1.0, given=True), *inside])
    assert len(way) == KEPT
    assert [one.module for one in way] == ["Net", *(f"Net.{number}" for number in range(101 - KEPT, 100))]


def test_a_module_that_runs_twice_is_told_twice_and_gradients_by_themselves() -> None:
    twice = [edge("Net.cell", number, given) for number in (1.0, 2.0) for given in (True, False)]
    way = way_of([*twice, edge("Net.cell", 3.0, backward=True)])
    told = [(one.given and one.given.largest, one.gave and one.gave.largest, one.backward) for one in way]
    assert told == [(1.0, 1.0, False), (2.0, 2.0, False), (None, 3.0, True)]
