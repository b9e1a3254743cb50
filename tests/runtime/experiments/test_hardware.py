"""What code comes to on a GPU that emulates bfloat16, told without such a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checkout import ROOT

from amplint.diagnostics import Applicability, Edit, Fix
from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import fixable
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source

torch = pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.replay.finding_replay import replay  # noqa: E402

RULE = next(rule for rule in load_rules() if rule.code == "AMP403")
QUESTION = "import torch\n\nhalf = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16\n"
REGION = """\
import torch


def predict(model, x):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return model(x)
"""


def proved(text: str, target: tuple[int, int] = (2, 4), instead: str = "") -> Outcome:
    """What the replay of the one fix in a text comes to; of another one that writes `instead` for the first edit, if given."""
    source = Source("half.py", text)
    settings = Settings(ROOT, select=("AMP403",), torch=target)
    [diagnostic] = fixable(check_source(source, settings, ROOT / source.path), unsafe=True)
    assert diagnostic.fix is not None
    if instead:
        first = diagnostic.fix.edits[0]
        fix = Fix("Replace", (Edit(first.start, first.end, instead),), Applicability.UNSAFE)
        diagnostic = replace(diagnostic, fix=fix)
    fixed, _ = apply(source, [diagnostic])
    return replay(source, replace(source, text=fixed), diagnostic, RULE, EMULATED, 0)


@pytest.mark.parametrize("target", [(2, 3), (2, 4)])
def test_a_question_that_counts_emulation_says_yes_on_a_gpu_without_bfloat16(target: tuple[int, int]) -> None:
    outcome = proved(QUESTION, target)
    assert outcome.verdict == CONFIRMED
    assert (outcome.before["answer at capability 7.5"], outcome.after["answer at capability 7.5"]) == ("yes", "no")
    assert {each["answer at capability 8.0"] for each in (outcome.before, outcome.after)} == {"yes"}


def test_a_region_without_a_question_is_bfloat16_on_any_gpu() -> None:
    outcome = proved(REGION)
    assert outcome.verdict == CONFIRMED
    at = "matrix product at capability 7.5"
    assert (outcome.before[at], outcome.after[at], outcome.reference[at]) == ("bfloat16", "float32", "float32")


def test_a_fix_that_still_asks_for_the_wrong_thing_is_refuted() -> None:
    assert proved(REGION, instead=", enabled=torch.cuda.is_available()").verdict == REFUTED


@pytest.mark.parametrize("asked", ["get_device_capability()[0] != 7", "get_device_capability() != (7, 5)"])
def test_a_fix_may_ask_for_what_a_gpu_is_not(asked: str) -> None:
    assert proved(REGION, instead=f", enabled=torch.cuda.{asked}").verdict == CONFIRMED
    assert proved(REGION, instead=f", enabled=torch.cuda.{asked}".replace("!=", "==")).verdict == REFUTED


def test_a_fix_that_asks_for_something_else_cannot_be_told() -> None:
    assert proved(REGION, instead=", enabled=model.training").verdict == NOT_REPLAYABLE


def test_torch_answers_as_before_afterwards() -> None:
    before = torch.cuda.is_available, torch.cuda.get_device_properties
    proved(QUESTION)
    assert (torch.cuda.is_available, torch.cuda.get_device_properties) == before
