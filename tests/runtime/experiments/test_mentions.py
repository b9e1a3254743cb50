"""Deprecated names where nothing is constructed, and a GPU where there is none."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from checkout import ROOT

from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, REFUTED, Outcome
from amplint.source import Source

RULES = {rule.code: rule for rule in load_rules()}
LOOP = (ROOT / "fixtures" / "amp209_deprecated_amp_api" / "flagged_import_only.py").read_text("utf-8")


def outcomes(code: str, text: str, device: str = "cuda-emulated", fixed: str | None = None) -> list[Outcome]:
    """The outcomes of the fixable findings in a text; `fixed` stands for the text with any of their fixes."""
    source, rule = Source("train.py", text), RULES[code]
    found = [one for one in lint_source(source, [rule]).diagnostics if one.fix is not None]
    after = [apply(source, [one])[0] if fixed is None else fixed for one in found]
    return [replay(source, Source("train.py", each), one, rule, device, 0) for each, one in zip(after, found)]


def test_an_import_that_nothing_uses_fails_where_torch_has_dropped_the_name_and_torch_stays_whole() -> None:
    kept = torch.cuda.amp.autocast
    (proved,) = outcomes("AMP209", LOOP)
    name = "error where torch has dropped the name"
    assert proved.verdict == CONFIRMED
    assert (proved.before[name], proved.after[name]) == (
        "AttributeError: module 'torch.cuda.amp' has no attribute 'autocast'",
        "none",
    )
    assert torch.cuda.amp.autocast is kept


def test_an_import_that_stays_is_no_fix() -> None:
    (proved,) = outcomes("AMP209", LOOP, fixed=LOOP)
    assert proved.verdict == REFUTED


TYPES = """\
import torch

def save(scaler: torch.cuda.amp.GradScaler):
    return isinstance(scaler, torch.cuda.amp.GradScaler)
"""


def test_a_type_takes_the_new_objects_only_after_the_fix_and_the_old_ones_still() -> None:
    for proved in outcomes("AMP209", TYPES):
        assert proved.verdict == CONFIRMED
        assert proved.before == {"takes a torch.amp.GradScaler": "no", "takes a torch.cuda.amp.GradScaler": "yes"}
        assert set(proved.after.values()) == {"yes"}


def test_a_type_that_stays_is_no_fix() -> None:
    assert {proved.verdict for proved in outcomes("AMP209", TYPES, fixed=TYPES)} == {REFUTED}


FLAG = """\
import torch

def build(use_amp):
    return torch.cuda.amp.GradScaler(use_amp)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_asks_for_a_gpu_gets_one_where_cuda_is_emulated_and_nowhere_else() -> None:
    (proved,) = outcomes("AMP213", FLAG)
    assert (proved.verdict, proved.before["enabled"], proved.after["enabled"]) == (CONFIRMED, "True", "False")
    assert [one.verdict for one in outcomes("AMP213", FLAG, device="cpu")] == [NOT_OBSERVABLE]
    assert torch.cuda.amp.common.amp_definitely_not_available()
    assert not torch.cuda.is_bf16_supported()


@pytest.mark.parametrize("device", ["cuda-emulated", "cpu"])
def test_a_region_that_raises_on_entry_leaves_autocast_as_it_was(device: str) -> None:
    before = [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cuda", "cpu")]
    for name in ("flagged_flag_literal", "flagged_old_autocast_dtype", "flagged_old_order"):
        outcomes(
            "AMP213", (ROOT / "fixtures" / "amp213_positional_amp_argument" / f"{name}.py").read_text("utf-8"), device
        )
        after = [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cuda", "cpu")]
        assert after == before


def test_a_value_that_depends_is_the_first_it_may_be_and_no_flag() -> None:
    text = (ROOT / "fixtures" / "amp205_autocast_missing_device_type" / "flagged_index_named.py").read_text("utf-8")
    (proved,) = outcomes("AMP205", text)
    assert (proved.verdict, proved.before, proved.after) == (
        CONFIRMED,
        {"device type": "cuda:0"},
        {"device type": "cuda"},
    )
