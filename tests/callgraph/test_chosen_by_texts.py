"""What a function makes of the text that it is given: of a table, or of a module that the text names."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

NETS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(64, 1)

        def forward(self, x):
            return -torch.log(torch.sigmoid(self.fc(x))).mean()

    class Good(nn.Module):
        def forward(self, x):
            return x.mean()
"""
TRAIN = """
    import torch
    from building import build

    def train(loader):
        net = build({given}).cuda()
        optimizer = torch.optim.Adam(net.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net(x)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""
TABLE = """
    from nets import Good, Net

    KINDS = {{"bad": Net, "good": Good}}

    def build(kind{default}):
        {before}
        return {made}
"""


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        ('"bad"', True),
        ('"good"', False),
        ('kind="good"', False),
        ("*loader", True),
        ('"good" if loader else "bad"', True),
    ],
)
@pytest.mark.parametrize(
    "made", ["KINDS[kind]()", '{"bad": Net, "good": Good}[kind]()', "KINDS.get(kind)()", "KINDS[kind.lower()]()"]
)
def test_a_table_under_the_text_of_a_parameter(tmp_path: Path, made: str, given: str, is_found: bool) -> None:
    building = TABLE.format(default="", before="pass", made=made)
    root = project(tmp_path, nets=NETS, building=building, train=TRAIN.format(given=given))
    assert found_in(root, select=("AMP305",)) == ({"nets.py:11 AMP305"} if is_found else set())


@pytest.mark.parametrize(
    ("default", "before", "given", "is_found"),
    [
        ('="good"', "pass", "", False),
        ('="good"', "pass", '"bad"', True),
        ('="bad"', "pass", "", True),
        ("", "kind = 'bad'", '"good"', True),
    ],
)
def test_defaults_and_parameters_that_get_another_value(
    tmp_path: Path, default: str, before: str, given: str, is_found: bool
) -> None:
    building = TABLE.format(default=default, before=before, made="KINDS[kind]()")
    root = project(tmp_path, nets=NETS, building=building, train=TRAIN.format(given=given))
    assert found_in(root, select=("AMP305",)) == ({"nets.py:11 AMP305"} if is_found else set())


BY_NAME = """
    import importlib

    def build(kind):
        module = importlib.import_module(f"models.{kind}")
        return getattr(module, kind.capitalize() + "Net")()
"""


@pytest.mark.parametrize(("given", "is_found"), [('"bad"', True), ('"good"', False)])
def test_a_module_under_the_text_of_a_parameter(tmp_path: Path, given: str, is_found: bool) -> None:
    bad = NETS.replace("class Net", "class BadNet")
    good = NETS.replace("class Good", "class GoodNet")
    root = project(tmp_path, models_bad=bad, models_good=good, building=BY_NAME, train=TRAIN.format(given=given))
    assert found_in(root, select=("AMP305",)) == ({"models/bad.py:11 AMP305"} if is_found else set())
