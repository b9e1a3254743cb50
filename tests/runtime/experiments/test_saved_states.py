"""Which states reach what is saved."""

from __future__ import annotations

import pytest

from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.experiments.saved_states import lost_states

OWN = """\
def save(path, model, scaler):
    state = {"model": model.state_dict(), "scaler": scaler.state_dict()}
    torch.save(state, path)
"""
ENTRY = ', "scaler": scaler.state_dict()'


def file(text: str) -> File:
    return File(Tree(Source("save.py", text)), torch=(2, 3))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ENTRY, ', "amp": scaler.state_dict()'),
        (ENTRY, ', "scaler": scaler.state_dict() if scaler is not None else None'),
        (ENTRY + "}", '}\n    state["scaler"] = scaler.state_dict()'),
        (ENTRY + "}", "}\n    state.update(scaler=scaler.state_dict())"),
    ],
)
def test_a_state_may_be_saved_in_other_words(old: str, new: str) -> None:
    assert all(each.after for each in lost_states(file(OWN), file(OWN.replace(old, new))))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ENTRY, ""),
        (ENTRY, ', "scaler": None'),
        (ENTRY, ', "scaler": scaler.state_dict() if scaler is None else None'),
        ('"model": model.state_dict(), "scaler"', '"scaler": scaler.state_dict(), "scaler"'),
        ('"scaler": ', '"model": '),
        ("path)\n", 'path)\n    state["scaler"] = scaler.state_dict()\n'),
    ],
)
def test_a_state_that_is_left_out_shadowed_or_late_is_lost(old: str, new: str) -> None:
    text = OWN.replace(old, new) if "path)" not in old else OWN.replace(ENTRY, "").replace(old, new)
    assert [each.what for each in lost_states(file(OWN), file(text)) if not each.after]
