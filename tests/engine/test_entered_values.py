"""Functions that other files enter know the values of their own module, and what their callers give them."""

from __future__ import annotations

from pathlib import Path

import pytest
from loss_and_loop import engine, numerics
from project import project

CONSTANTS = """
import torch

bce = torch.nn.BCELoss()
EPS = 1e-9


def plain(out, y):
    return bce(torch.sigmoid(out), y)


class Focal(torch.nn.Module):
    def forward(self, out, y):
        return -(torch.log(out.sigmoid() + EPS) * y).mean()
"""


@pytest.mark.parametrize(
    ("call", "expected"), [("plain", {"losses.py:9 AMP304"}), ("Focal()", {"losses.py:14 AMP301"})]
)
def test_what_the_module_makes_is_known_to_functions_that_others_enter(
    tmp_path: Path, call: str, expected: set[str]
) -> None:
    loss = engine(f"{call}(model(x), y)", f"from losses import {call.removesuffix('()')}")
    assert numerics(project(tmp_path, losses=CONSTANTS, engine=loss)) == expected


MASKED = """
import torch
{imports}

{before}
def epoch(model, loader):
    for x, mask in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            attend = {attend}
        attend.sum().backward()

{after}
"""
MAKING = "def main(loader):\n    model = torch.nn.Linear(4, 4)\n    epoch(model, loader)\n\n"


@pytest.mark.parametrize(("before", "after"), [(MAKING, ""), ("", MAKING)])
@pytest.mark.parametrize(
    ("imports", "attend", "expected"),
    [
        ("", "model(x).masked_fill(mask, -1e9).softmax(-1)", "engine.py"),
        ("from masks import masked", "masked(model(x), mask).softmax(-1)", "masks.py:3 AMP303"),
    ],
)
def test_the_order_of_functions_does_not_matter(
    tmp_path: Path, before: str, after: str, imports: str, attend: str, expected: str
) -> None:
    masks = "import torch\ndef masked(scores, mask):\n    return scores.masked_fill(mask, -1e9)\n"
    text = MASKED.format(imports=imports, attend=attend, before=before, after=after)
    (found,) = numerics(project(tmp_path, masks=masks, engine=text))
    assert found.startswith(expected)
    assert found.endswith("AMP303")


MEL = """
import torch


def spectral(spec, basis):
    return torch.log(torch.clamp(torch.matmul(basis, spec), min=1e-5))
"""


@pytest.mark.parametrize(("argument", "expected"), [("model(x)", {"mel.py:6 AMP301"}), ("x", set())])
def test_of_data_no_gradient_is_wanted(tmp_path: Path, argument: str, expected: set[str]) -> None:
    loss = f"(spectral({argument}, y) - criterion(model(x), y)).abs().mean()"
    root = project(tmp_path, mel=MEL, engine=engine(loss, "from mel import spectral"))
    assert numerics(root) == expected
