"""Models in half: a cast that is left makes the scaler refuse the gradients, whatever became of another one."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from checkout import ROOT

from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.fixer import fixable
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.repairs import FixableFinding, Repair, own_repair
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.replay.neighbouring_fixes import judge_in_company
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, Outcome
from amplint.source import Source

CODE = """
import torch


def train(encoder, decoder, loader, criterion):
    encoder.half()
    steps = 0
    {second}
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(decoder(encoder(x)), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def repairs(second: str) -> list[Repair]:
    """The fixes of the rule, one by one.

    Args:
        second: what is done besides the cast of the encoder.
    """
    source = Source("train.py", CODE.format(second=second))
    found = fixable(check_source(source, Settings(ROOT, select=("AMP207",)), ROOT / source.path), unsafe=True)
    return [own_repair(FixableFinding(source, each), found) for each in found]


def judged(repair: Repair) -> Outcome:
    """What becomes of one of them, alone."""
    rule = next(each for each in load_rules() if each.code == "AMP207")
    return replay(repair.before, repair.after, repair.diagnostic, rule, EMULATED, 0)


@pytest.mark.parametrize("second", ["encoder.to(torch.float16)", "decoder.half()"])
def test_a_cast_that_is_left_keeps_the_other_from_being_proved(second: str) -> None:
    fixes = repairs(second)
    assert len(fixes) == 2
    for repair in fixes:
        alone = judged(repair)
        assert (alone.verdict, alone.others) == (NOT_REPLAYABLE, (repair.diagnostic.name,))
        assert alone.after == alone.before


def test_both_are_proved_in_company() -> None:
    rule = next(each for each in load_rules() if each.code == "AMP207")
    for repair in repairs("decoder.half()"):
        proved = judge_in_company(
            repair.before,
            repair.diagnostic,
            judged(repair),
            repair.neighbours,
            repair.with_fixes,
            lambda before, after, finding: replay(before, after, finding, rule, EMULATED, 0),
        )
        (other,) = repair.neighbours
        assert (proved.verdict, proved.together) == (CONFIRMED, (f"AMP207 in line {other.range.start.row}",))


def test_a_cast_that_is_the_only_one_is_proved() -> None:
    (repair,) = repairs("decoder.cuda()")
    assert judged(repair).verdict == CONFIRMED
