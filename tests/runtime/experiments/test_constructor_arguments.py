"""Regions are constructed again with the device that the code spells: no error is told of that it does not raise."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, Outcome
from amplint.source import Source

CODE = """
import torch

class Engine:
    def __init__(self, settings, rank=None):
        self.device = settings.device
        if rank is not None:
            self.device = f"cuda:{{rank}}"

    def run(self, model, batch, rank):
        device = {device}
        with torch.autocast({given}, dtype=torch.bfloat16):
            return model(batch.to(device))
"""


def outcome(device: str, given: str) -> Outcome:
    """What is seen of a region that is given a device, and of it with its fix."""
    rule = next(each for each in load_rules() if each.code == "AMP205")
    source = Source("train.py", CODE.format(device=device, given=given))
    (diagnostic,) = lint_source(source, [rule]).diagnostics
    return replay(source, Source("train.py", apply(source, [diagnostic])[0]), diagnostic, rule, "cuda-emulated", 0)


@pytest.mark.parametrize(
    ("device", "given"),
    [
        ('torch.device("cuda:0")', "str(device)"),
        ('torch.device(f"cuda:{rank}")', "str(device)"),
        ("next(model.parameters()).device", "str(device)"),
        ("self.device", "self.device"),
    ],
    ids=["made", "made of a rank", "of a tensor", "kept"],
)
def test_the_index_of_a_device_is_seen(device: str, given: str) -> None:
    seen = outcome(device, given)
    assert (seen.verdict, seen.before, seen.after) == (CONFIRMED, {"device type": "cuda:0"}, {"device type": "cuda"})


def test_a_device_itself_raises() -> None:
    seen = outcome('torch.device("cuda:0")', "device")
    assert seen.verdict == CONFIRMED
    assert "ValueError" in str(seen.before["error raised"])


def test_a_device_is_put_together_of_what_is_not_known() -> None:
    seen = outcome('torch.device(f"{rank}:0")', "device")
    assert seen.verdict == CONFIRMED
