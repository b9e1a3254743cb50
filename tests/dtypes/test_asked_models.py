"""What a model of another file gives back is asked for, though its name says that it computes in half precision."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

MODELS = """
    from torch import nn

    class Coder(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc = nn.Linear(width, 8)

        def forward(self, x):
            return self.fc(x){ending}
"""
TRAIN = """
    import torch
    from models import Coder

    def main(loader):
        {name} = Coder(1024).cuda()
        optimizer = torch.optim.Adam({name}.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                z = {name}(y)
                loss = torch.log(torch.sigmoid(z) + 1e-8).sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize("name", ["model", "net", "network"])
@pytest.mark.parametrize(("ending", "is_found"), [("", True), (".float()", False)])
def test_what_the_model_says_goes_before_its_name(tmp_path: Path, name: str, ending: str, is_found: bool) -> None:
    root = project(tmp_path, models=MODELS.format(ending=ending), train=TRAIN.format(name=name))
    assert found_in(root, select=("AMP301",)) == ({"train.py:13 AMP301"} if is_found else set())


LOSS_OUTSIDE = TRAIN.replace(
    "                loss = torch.log(torch.sigmoid(z) + 1e-8).sum()\n",
    "            loss = torch.nn.functional.cross_entropy(z, y)\n",
)


@pytest.mark.parametrize("name", ["model", "net"])
@pytest.mark.parametrize(("ending", "is_found"), [("", True), (".float()", False)])
def test_a_loss_outside_of_the_region(tmp_path: Path, name: str, ending: str, is_found: bool) -> None:
    root = project(tmp_path, models=MODELS.format(ending=ending), train=LOSS_OUTSIDE.format(name=name))
    assert found_in(root, select=("AMP211",)) == ({"train.py:13 AMP211"} if is_found else set())
