"""Repairs that put another precision in the place of the author's."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from checkout import ROOT
from test_replay import EMULATED, RULES, findings, outcome, read

from amplint.engine.fixed_text import apply
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, REFUTED, Outcome
from amplint.source import Source


def changed(code: str, fixture: str, row: int, old: str, new: str) -> Outcome:
    """What becomes of the fix of a finding in a fixture, in which something is another thing."""
    (path,) = ROOT.glob(f"fixtures/{code.lower()}_*/{fixture}")
    source = read(path)
    found = next(each for each in findings(source, RULES[code]) if each.range.start.row == row)
    fixed = apply(source, [found])[0]
    assert old in fixed
    return replay(source, Source(source.path, fixed.replace(old, new)), found, RULES[code], EMULATED, 0)


def test_a_scaler_for_bfloat16_is_another_defect() -> None:
    judged = changed("AMP106", "flagged_cpu_float16.py", 13, "float16", "bfloat16")
    assert judged.verdict == REFUTED and "AMP118" in judged.reason


def test_a_cast_to_half_where_only_a_run_tells_the_precision_is_not_confirmed() -> None:
    old = "torch.bfloat16)):\n            logits = model(x)"
    assert changed("AMP211", "flagged_table_of_dtypes.py", 28, old, old + ".half()").verdict != CONFIRMED


def test_what_is_returned_keeps_its_gradients() -> None:
    returned = "return self.out(pooled)"
    assert changed("AMP206", "flagged_accumulated.py", 15, returned, returned + ".detach()").verdict != CONFIRMED


TARGETS = """\
import torch
import torch.nn.functional as F


def train(head, loader):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            probs = torch.sigmoid(head(x))
            loss = F.binary_cross_entropy(probs, y)
        loss.backward()
"""


def test_targets_of_a_binary_loss_lie_between_0_and_1() -> None:
    assert "between 0 and 1" not in outcome("AMP304", TARGETS).reason
