"""Scalers that a repair hands over no more, and loss scales that it forgets."""

from __future__ import annotations

import pytest

from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.experiments.kept_training import lost_scalers

LOOP = """\
import torch


def train(model, loader, epochs, one_epoch):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        one_epoch(model, loader, optimizer, epoch, scaler=scaler)
        for x in loader:
            scaler.scale(model(x)).backward()
            scaler.step(optimizer)
            scaler.update()
"""


def lost(old: str, new: str) -> list[str]:
    assert old in LOOP
    own, after = (File(Tree(Source("train.py", text)), torch=(2, 3)) for text in (LOOP, LOOP.replace(old, new)))
    return [each.what for each in lost_scalers(own, after) if each.is_spoiled]


def test_a_call_that_is_given_none_has_lost_its_scaler() -> None:
    assert lost("scaler=scaler)", "scaler=None)") == ["the scaler that `one_epoch(scaler)` is given"]
    assert lost("optimizer, epoch, scaler=scaler)", "optimizer, epoch, None)") == [], "perhaps another parameter"
    assert lost("epoch, scaler=scaler)", "None, scaler=scaler)") == []


def test_a_scaler_that_is_made_anew_forgets_its_scale() -> None:
    made = '            scaler = torch.amp.GradScaler("cuda")\n'
    assert lost("            scaler.scale(", f"{made}            scaler.scale(") == ["a loss scale that is remembered"]
    assert lost("            scaler.scale(", "            print(x)\n            scaler.scale(") == []
