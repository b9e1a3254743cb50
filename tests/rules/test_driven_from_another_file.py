"""A script that speaks of nothing of AMP drives an object of another file, which has the scaler."""

from pathlib import Path

import pytest
from project import check, found_in, project

MODEL = """
import torch


class Model:
    def __init__(self, net):
        self.net = net
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer = torch.optim.Adam(net.parameters())
        self.schedulers = [torch.optim.lr_scheduler.MultiStepLR(self.optimizer, [1000])]

    def optimize_parameters(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.l1_loss(self.net(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def update_learning_rate(self):
        for scheduler in self.schedulers:
            scheduler.step()
"""

SCRIPT = """
import torch
from model import Model


def main(loader, epochs):
    model = Model(torch.nn.Conv2d(3, 3, 3))
    for _ in range(epochs):
        for x, y in loader:
            model.optimize_parameters(x, y)
            {inside}
        {behind}
"""


@pytest.mark.parametrize(
    ("inside", "behind", "rows"),
    [("model.update_learning_rate()", "pass", [11]), ("pass", "model.update_learning_rate()", [])],
    ids=["each iteration", "each epoch"],
)
def test_schedules_that_a_script_advances_in_each_iteration(
    tmp_path: Path, inside: str, behind: str, rows: list[int]
) -> None:
    root = project(tmp_path, model=MODEL, script=SCRIPT.format(inside=inside, behind=behind))
    found = check(root, "script.py").diagnostics
    assert [(each.code, each.range.start.row) for each in found] == [("AMP107", row) for row in rows]


@pytest.mark.parametrize(("name", "codes"), [("step_schedulers", ["AMP107"]), ("report", [])])
def test_methods_that_are_called_like_what_they_advance(tmp_path: Path, name: str, codes: list[str]) -> None:
    """Nothing else in the script says that it trains."""
    model, script = MODEL.replace("update_learning_rate", name), SCRIPT.format(inside=f"model.{name}()", behind="pass")
    root = project(tmp_path, model=model, script=script.replace("optimize_parameters", "fit"))
    (root / "model.py").write_text(model.replace("optimize_parameters", "fit"))
    assert [each.code for each in check(root, "script.py").diagnostics] == codes


FACTORY = """
import importlib


def create(name, net):
    return getattr(importlib.import_module(f"models.{name}"), "Model")(net)
"""
MADE_ELSEWHERE = SCRIPT.replace("from model import Model", "from factory import create").replace(
    "Model(", "create('', "
)
SHARED = "import factory\n"
PLAIN = MODEL.replace("self.scaler.scale(loss).backward()", "loss.backward()").replace(
    "self.scaler.step(self.optimizer)", "self.optimizer.step()"
)
ASKING = MODEL.replace(
    "def update_learning_rate(self):", "def update_learning_rate(self):\n        if self.skipped > 3: return"
)
IN_TURN = "model.update_learning_rate()"


@pytest.mark.parametrize(
    ("model", "inside", "behind", "rows"),
    [
        (SHARED + MODEL, IN_TURN, "pass", ["script.py:11 AMP107"]),
        (SHARED + MODEL, "pass", IN_TURN, []),
        (SHARED + MODEL, f"if not model.skipped: {IN_TURN}", "pass", []),
        (MODEL, IN_TURN, "pass", []),
        (SHARED + PLAIN, IN_TURN, "pass", []),
        (SHARED + ASKING, IN_TURN, "pass", []),
    ],
    ids=["each iteration", "each epoch", "asked for", "no import leads to both", "no scaler steps", "the class asks"],
)
def test_schedules_of_an_object_that_a_factory_makes(
    tmp_path: Path, model: str, inside: str, behind: str, rows: list[str]
) -> None:
    script = MADE_ELSEWHERE.format(inside=inside, behind=behind)
    root = project(tmp_path, models_net=model, factory=FACTORY, script=script)
    assert found_in(root, select=("AMP107",)) == {*rows}


def test_an_object_of_one_of_two_classes(tmp_path: Path) -> None:
    """Which of them it is, and whether it has a scaler, settings say."""
    model = MODEL.replace("optimize_parameters", "update").replace(
        "def __init__(self, net)", "def __init__(self, net, amp)"
    )
    made = model.replace('GradScaler("cuda")', 'GradScaler("cuda") if amp else None')
    other = made.replace("import torch\n", "").replace("class Model", "class OtherModel")
    script = (
        SCRIPT.replace("import Model", "import Model, OtherModel")
        .replace("(loader, epochs)", "(loader, epochs, net, plain, amp)")
        .replace(
            "    model = Model(torch.nn.Conv2d(3, 3, 3))\n",
            "    if plain:\n        model = Model(net, amp)\n    else:\n        model = OtherModel(net, amp)\n",
        )
        .replace("optimize_parameters", "update")
    )
    root = project(tmp_path, model=made + other, script=script.format(inside=IN_TURN, behind="pass"))
    assert found_in(root, select=("AMP107",)) == {"script.py:14 AMP107"}
