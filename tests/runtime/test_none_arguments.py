"""Functions that are given `None`, or a state, for an object whose methods they call."""

from __future__ import annotations

import pytest

from amplint.source import Source

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.none_arguments import newly_none

STEP = "def step(loss, scaler):\n    scaler.scale(loss).backward()\n"
ASKING = "def step(loss, scaler):\n    if scaler is None:\n        return\n    scaler.scale(loss).backward()\n"
MAKING = "def step(loss, scaler):\n    scaler = scaler or make()\n    scaler.scale(loss).backward()\n"


def told(definition: str, before: str, after: str) -> list[str]:
    sides = (Source("train.py", f"{definition}\n\n{call}\n") for call in (before, after))
    return newly_none(*sides)


@pytest.mark.parametrize(
    "before, after",
    [
        ("step(loss, scaler)", "step(loss, None)"),
        ("step(loss, scaler=scaler)", "step(loss, scaler=None)"),
        ("mp.spawn(step, args=(scaler,))", "mp.spawn(step, args=(None,))"),
        ("Process(target=step, args=(loss, scaler))", "Process(target=step, args=(loss, None))"),
    ],
)
def test_a_method_of_none_is_told(before: str, after: str) -> None:
    assert told(STEP, before, after) == ["AttributeError: `scaler` is None, and has no `scale`"]
    assert told(STEP, after, after) == [], "it was so before"
    assert told(ASKING, before, after) == [] == told(MAKING, before, after)


@pytest.mark.parametrize(
    "after",
    [
        "step(loss, scaler.state_dict())",
        "mp.spawn(step, args=(scaler.state_dict(),))",
        "args = (scaler.state_dict(),)\nmp.spawn(step, args=args)",
    ],
)
def test_a_method_of_a_state_is_told(after: str) -> None:
    assert told(STEP, "step(loss, scaler)", after) == ["AttributeError: `scaler` is a dictionary, and has no `scale`"]


def test_a_method_that_dictionaries_have_is_not() -> None:
    definition = "def step(loss, scaler):\n    loss.load(scaler.items())\n"
    assert told(definition, "step(loss, scaler)", "step(loss, scaler.state_dict())") == []


@pytest.mark.parametrize(
    "after", ["step(loss, make())", "step(*given, None)", "other(loss, None)", "step(None, scaler)"]
)
def test_what_may_be_meant_is_not(after: str) -> None:
    assert told(STEP, "step(loss, scaler)", after) == []
