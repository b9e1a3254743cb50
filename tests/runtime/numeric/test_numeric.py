"""Numeric findings: the expression around them is computed, as it stands and with the fix, where half gives out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("torch")

from checkout import ROOT
from numeric_replays import EMULATED, ENTROPY, RULE, findings, loop, outcome, proved

from amplint.engine.fixed_text import apply
from amplint.model.observables import NON_FINITE, VALUE_ERROR
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, REFUTED
from amplint.source import Source

FLAGGED = [
    path
    for path in sorted(ROOT.glob("fixtures/amp301_*/flagged_*.py"))
    if path.with_suffix(".fixed.py").exists()
]  # fmt: skip


@pytest.mark.parametrize("path", FLAGGED, ids=lambda path: path.stem)
def test_the_fixes_of_all_fixtures_are_confirmed(path: Path) -> None:
    source = Source.from_bytes(str(path), path.read_bytes())
    for diagnostic in findings(source):
        fixed, _ = apply(source, [diagnostic])
        found = replay(source, Source(str(path), fixed), diagnostic, RULE, EMULATED, 0)
        assert found.verdict == CONFIRMED, found
        assert found.before[NON_FINITE] and not found.after[NON_FINITE]
        assert found.axis is not None
        lengths = {len(found.axis.places), *map(len, found.series.values())}
        assert len(lengths) == 1 and lengths != {0}


def test_the_numbers_are_those_of_float16() -> None:
    found = outcome(loop(ENTROPY))
    assert found.axis is not None and found.axis.name == "value of `model(x)`"
    at = dict(zip(found.axis.places, zip(*(found.series[name] for name in ("before", "after", "reference")))))
    before, after, reference = at[-18.0]  # where sigmoid is 1.5e-8, and 0 in float16
    assert not math.isfinite(before) and after == pytest.approx(reference, rel=1e-4)
    assert at[-16.0][0] == pytest.approx(at[-16.0][2], rel=0.1)


def test_the_same_seed_gives_the_same_outcome() -> None:
    first, second = outcome(loop(ENTROPY), seed=3), outcome(loop(ENTROPY), seed=3)
    assert repr(first) == repr(second)  # where nothing is equal to nan


# -- devices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("written", "device"), [("cuda", "cpu"), ("mps", EMULATED)])
def test_another_table_of_autocast_proves_nothing(written: str, device: str) -> None:
    text = loop(ENTROPY, device=written)
    found = outcome(text, device=device)
    assert (found.verdict, found.reason) == (NOT_OBSERVABLE, f"the code is for {written!r}")


def test_code_for_the_cpu_is_proved_there() -> None:
    found = outcome(loop("loss = torch.exp(logits).mean()", device="cpu"), device="cpu")
    assert found.verdict == CONFIRMED


# -- other rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "piece", "instead"),
    [
        ("loss = (logits * logits).mean()", "logits * logits", "logits ** 2"),
        ("s = logits.masked_fill(target == 0, -1e9)\nloss = s.softmax(-1).mean()", "-1e9", "torch.finfo(logits.dtype).min"),
        ("s = torch.where(target > 0, logits, -1e9)\nloss = s.softmax(-1).mean()", "-1e9", "-1e4"),
        ("s = logits * 1\ns[target > 0] = -1e9\nloss = s.softmax(-1).mean()", "s[target > 0] = -1e9", "s[target > 0] = -1e4"),
        (
            "loss = F.binary_cross_entropy(torch.sigmoid(logits), target)",
            "F.binary_cross_entropy(torch.sigmoid(logits), target)",
            "F.binary_cross_entropy_with_logits(logits, target)",
        ),
        ("loss = torch.log(torch.softmax(logits, -1)).mean()", "torch.log(torch.softmax(logits, -1))", "logits.log_softmax(-1)"),
        ("e = logits * 1\ne.exp_()\nloss = e.mean()", "e.exp_()", "e = e.exp()"),
        ("e = logits * 1\ntorch.exp(e, out=e)\nloss = e.detach().mean()", "torch.exp(e, out=e)", "e = torch.exp(e)"),
        ("h = F.layer_norm(logits, (8,))\nloss = (h * 1e5).half().mean()", "(h * 1e5).half()", "(h * 1e5)"),
        ("n = int(logits.shape[0] / 2)\nloss = (logits[:n] * logits[:n]).mean()", "logits[:n] * logits[:n]", "logits[:n] ** 2"),
    ],
)  # fmt: skip
def test_the_numbers_of_other_rules_are_served(loss: str, piece: str, instead: str) -> None:
    text = loop(loss)
    if "out=" in piece:  # which torch refuses where gradients are recorded
        text = text.replace("with torch.amp", "with torch.no_grad(), torch.amp")
    found = proved(text, piece, instead)
    assert found.verdict == CONFIRMED, found


def test_digits_may_be_what_is_at_stake() -> None:
    text = loop("pass", dtype="torch.bfloat16")
    text = text.replace("        scaler.scale", "        loss = F.cross_entropy(logits, target)\n        scaler.scale")
    found = proved(text, "F.cross_entropy(logits, target)", "F.cross_entropy(logits.float(), target)", VALUE_ERROR)
    assert found.verdict == CONFIRMED
    assert found.measure == VALUE_ERROR
    assert found.before[VALUE_ERROR] > 1e-3 > 1e-5 > found.after[VALUE_ERROR]  # type: ignore[operator]
    finite_only = proved(text, "F.cross_entropy(logits, target)", "F.cross_entropy(logits.float(), target)")
    assert finite_only.verdict == NOT_OBSERVABLE


def test_an_unsafe_fix_may_leave_gradients_that_half_cannot_hold() -> None:
    text = loop("scale = logits.abs().amax(-1, keepdim=True).clamp(min=1e-12)\nloss = (logits / scale).mean()")
    piece, instead = "logits.abs().amax(-1, keepdim=True)", "logits.abs().amax(-1, keepdim=True).float()"
    unsafe, safe = (proved(text, piece, instead, safe=each) for each in (False, True))
    assert (unsafe.verdict, safe.verdict) == (CONFIRMED, REFUTED)
    assert unsafe.reference["gradient beyond half"] == unsafe.after[NON_FINITE]
