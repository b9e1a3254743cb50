"""Words that mean nothing, and what somebody may have meant."""

from __future__ import annotations

import pytest

from amplint.engine.nearest import nearest

VALID = ["AMP101", "AMP110", "AMP211", "clip-before-unscale", "fp16-without-scaler", "ALL", "torch-version", "ignore"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("AMP102", ""),
        ("AMP9x", ""),
        ("AMP1", ""),
        ("XYZ101", ""),
        ("AMP1O1", "AMP101"),
        ("amp1l0", "AMP110"),
        ("AMP-101", "AMP101"),
        ("101", "AMP101"),
        ("999", ""),
        ("clip-befor-unscale", "clip-before-unscale"),
        ("fp16-without-scalr", "fp16-without-scaler"),
        ("al", "ALL"),
        ("torch_version", "torch-version"),
        ("", ""),
        ("quite-something-else", ""),
        ("nope", ""),
        ("torch", "torch-version"),
        ("clip-unscale", "clip-before-unscale"),
        ("ignored", "ignore"),
        ("extend-ignore", "ignore"),
        ("force-ignore", "ignore"),
    ],
)
def test_what_is_near(word: str, meant: str) -> None:
    assert nearest(word, VALID) == (f"; did you mean `{meant}`?" if meant else "")
