"""A script that speaks of nothing of AMP drives an object of another file, which has the scaler."""

from pathlib import Path

import pytest
from project import check, project

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
