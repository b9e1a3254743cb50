"""Fixes of numeric findings that do not help, or do something else as well."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from numeric_replays import ENTROPY, loop, outcome, proved

from amplint.model.observables import NON_FINITE
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, PARTLY, REFUTED

# -- fixes that do not help --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("torch.log(p + 1e-8)", "torch.log((p + 1e-8).float())"),  # after the epsilon is lost
        ("torch.log(p + 1e-8)", "torch.log(1e-8 + p)"),
        ("torch.log(p + 1e-8)", "torch.log(p + 1e-9)"),
    ],
)
def test_a_fix_that_does_not_help_is_refuted(written: str, instead: str) -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace(written, instead))
    assert found.verdict == REFUTED
    assert "finite value or gradient" in found.reason and found.after[NON_FINITE]


def test_what_a_fix_leaves_of_the_defect_is_named() -> None:
    text = loop(ENTROPY)
    found = outcome(
        text, text.replace("torch.log(p + 1e-8)", "torch.log(p.float() + 1e-8)")
    )  # after the sigmoid was rounded
    assert (found.verdict, found.remains) == (PARTLY, ("the finite gradient at 20 points",))


def test_nothing_in_the_place_of_what_is_not_finite_is_no_fix() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace("torch.log(p + 1e-8)", "torch.nan_to_num(torch.log(p + 1e-8), neginf=0.0)"))
    assert found.verdict == REFUTED


def test_a_fix_that_makes_other_points_non_finite_is_refuted() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace("torch.sigmoid(logits)", "1 / (1 + torch.exp(-logits.half() * 8))"))
    assert found.verdict == REFUTED


def test_a_fix_that_raises_is_refuted() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace("p + 1e-8)", "F.binary_cross_entropy(p, target))"))
    assert found.verdict == REFUTED
    assert "unsafe to autocast" in str(found.after["error raised"])


def test_what_is_proved_is_the_text_that_is_written() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text)
    assert found.verdict == REFUTED and found.before == found.after


# -- what else a repair may do -----------------------------------------------------------------------------------------

TERMS = "p = torch.sigmoid(logits)\nseen = p.mean()\nloss = -(target * torch.log(p + 1e-8)).mean() + 0.1 * (logits @ x).mean()"
MENDED = "torch.sigmoid(logits.float())"


@pytest.mark.parametrize(
    ("written", "instead", "reason"),
    [
        ("-(target * torch.log", "(target * torch.log", "is not what is meant"),
        ("target * torch", "torch", "is not what is meant"),
        ("-(target", "-0 * (target", "is not what is meant"),
        ("-(target", "-2 * (target", "is not what is meant"),
        (MENDED, f"{MENDED}.detach()", "is not what is meant"),
        (MENDED, "torch.softmax(logits.float(), -1)", "is not what is meant"),
        (MENDED, "torch.sigmoid(-logits.float())", "is not what is meant"),
        (" + 0.1 * (logits @ x).mean()", "", "is not what is meant"),
        ("p + 1e-8", "p + 1e-2", "is not what is meant"),
        ("0.1 * (logits", "0.2 * (logits", "is not what is meant"),
        ('torch.amp.autocast("cuda", dtype=torch.float16)', 'torch.amp.autocast("cuda", enabled=False)', "the region, which is"),
        ("        scaler.step(optimizer)\n", "", "the step of an optimizer is lost"),
        ("        scaler.step(optimizer)\n", "        optimizer.step()\n", "step-bypasses-scaler"),
        ("        scaler.update()\n", "", "missing-update"),
        ("        scaler.scale(loss).backward()\n", "        loss.backward()\n", "the scale of the loss is lost"),
        ("        scaler.scale(loss).backward()\n", "", "the backward pass is lost"),
    ],
)  # fmt: skip
def test_a_fix_that_changes_what_is_computed_is_refuted(written: str, instead: str, reason: str) -> None:
    text = loop(TERMS)
    fixed = text.replace("torch.sigmoid(logits)", MENDED)
    assert outcome(text, fixed).verdict == CONFIRMED
    found = outcome(text, fixed.replace(written, instead))
    assert found.verdict == REFUTED and reason in found.reason, found


@pytest.mark.parametrize(
    ("written", "instead", "named"),
    [
        ("seen = p.mean()", "seen = p.sum()", "seen"),
        ("        scaler.scale(", "        if loss < 9:\n            scaler.scale(", "loss < 9"),
        ("for x, target in loader:", "for x, target in loader[1:]:", "for x, target in loader[1:]:"),
        ("    for x, target", "    optimizer.lr = 0\n    for x, target", "optimizer.lr"),
    ],
)  # fmt: skip
def test_what_a_fix_does_beyond_the_expression_is_named(written: str, instead: str, named: str) -> None:
    text = loop(TERMS)
    found = outcome(text, text.replace("torch.sigmoid(logits)", MENDED).replace(written, instead))
    assert found.verdict == NOT_REPLAYABLE and named in found.reason, found


def test_whole_numbers_stay_whole_numbers() -> None:
    text = loop("best = logits.argmax(-1)\n" + TERMS)
    fixed = text.replace("torch.sigmoid(logits)", MENDED)
    assert outcome(text, fixed.replace("best = logits.argmax(-1)", "best = logits.argmax(dim=-1)")).verdict == CONFIRMED
    found = outcome(text, fixed.replace("logits.argmax(-1)", "logits.argmax(-1).float()"))
    assert found.verdict == NOT_REPLAYABLE and "best" in found.reason, found


def test_a_region_for_the_loss_alone_leaves_the_model_in_half() -> None:
    text = loop("p = torch.sigmoid(logits)\nloss = -(target * torch.log(p + 1e-8)).mean()")
    body = "            p = torch.sigmoid(logits)\n            loss"
    region = "            with torch.amp.autocast('cuda', enabled=False):\n"
    island = f"{region}                p = torch.sigmoid(logits.float())\n                loss"
    assert outcome(text, text.replace(body, island)).verdict == CONFIRMED
    everything = text.replace('torch.amp.autocast("cuda", dtype=torch.float16)', "torch.no_grad()")
    assert outcome(text, everything).verdict == REFUTED


@pytest.mark.parametrize(
    "mask", ["mask[:, None, None, :] == 0", "~mask[:, None, None, :]", "mask.unsqueeze(1).unsqueeze(2) == 0"]
)
def test_the_masks_of_attention_are_read(mask: str) -> None:
    scores = f"scores = logits @ x.transpose(-2, -1)\nscores = scores.masked_fill({mask}, -1e9)\n"
    text = loop(scores + "loss = (scores.softmax(-1) @ x).mean()").replace("x, target in", "x, target, mask in")
    found = proved(text, "-1e9", "torch.finfo(scores.dtype).min")
    assert found.verdict == CONFIRMED, found
    assert proved(text, "-1e9", "0").verdict == REFUTED
    assert proved(text, "-1e9", "torch.finfo(scores.dtype).max").verdict == REFUTED


@pytest.mark.parametrize("mask", ["full", "full == 0", "target > 3"])
def test_no_target_falls_on_a_masked_class(mask: str) -> None:
    body = f"scores = logits.masked_fill({mask}, -1e9)\nloss = F.cross_entropy(scores, target)"
    text = loop(body).replace("x, target in", "x, target, full in")
    found = proved(text, "-1e9", "torch.finfo(logits.dtype).min")
    assert found.verdict == CONFIRMED, found
