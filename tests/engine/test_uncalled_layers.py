"""Layers that nobody is seen to call are judged by the precision in which their project trains."""

from __future__ import annotations

from pathlib import Path

import pytest
from loss_and_loop import engine, numerics
from project import project

LAYERS = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)

    def forward(self, x, mask):
        scores = self.query(x) @ x.transpose(-2, -1)
        return scores.masked_fill(mask, -1e9).softmax(-1)


def plain(scores, mask):
    return scores.masked_fill(mask, -1e9)
"""


@pytest.mark.parametrize(("dtype", "expected"), [("float16", {"layers.py:13 AMP303"}), ("bfloat16", set())])
def test_a_layer_that_nobody_is_seen_to_call_is_judged_by_its_project(
    tmp_path: Path, dtype: str, expected: set[str]
) -> None:
    root = project(tmp_path, layers=LAYERS, engine=engine("criterion(model(x), y)", dtype=dtype))
    assert numerics(root) == expected


WRAPPED = """
import torch

def train_one_epoch(model, loader, optimizer, loss_scaler):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.{dtype}):
            loss = model(x, y)
        loss_scaler(loss, optimizer, parameters=model.parameters())
"""


@pytest.mark.parametrize(("dtype", "expected"), [("float16", {"layers.py:13 AMP303"}), ("bfloat16", set())])
def test_an_object_around_the_scaler_trains_too(tmp_path: Path, dtype: str, expected: set[str]) -> None:
    root = project(tmp_path, layers=LAYERS, engine=WRAPPED.format(dtype=dtype))
    assert numerics(root) == expected


BESIDE = (
    LAYERS
    + """

class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.no_grad():
            scale = self.inner.weight.abs().amax()
        return self.inner(x) / scale
"""
)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float16", {"layers.py:13 AMP303"}), ("bfloat16", set())],
)
def test_a_layer_beside_one_that_is_called_is_judged_by_its_project(
    tmp_path: Path, dtype: str, expected: set[str]
) -> None:
    calls = f"""
        import torch
        from layers import Mlp

        def mixed(x):
            mlp = Mlp()
            with torch.autocast("cuda", dtype=torch.{dtype}):
                return mlp(x @ x)
        """
    root = project(tmp_path, layers=BESIDE, engine=engine("criterion(model(x), y)"), calls=calls)
    assert numerics(root) == expected


MATCHER = """
import torch


def cost(outputs, ids, masks):
    p = outputs["logits"].sigmoid()
    with torch.autocast("cuda", enabled={enabled}):
        near = torch.einsum("nc,mc->nm", outputs["masks"].float(), masks.float())
    return near - (p + 1e-8).log()[:, ids]
"""


@pytest.mark.parametrize(
    ("enabled", "dtype", "expected"),
    [("False", "float16", {"matcher.py:9 AMP302"}), ("False", "bfloat16", set()), ("True", "float16", set())],
)
def test_an_island_tells_of_a_sea(tmp_path: Path, enabled: str, dtype: str, expected: set[str]) -> None:
    root = project(
        tmp_path, matcher=MATCHER.format(enabled=enabled), engine=engine("criterion(model(x), y)", dtype=dtype)
    )
    assert numerics(root) == expected
