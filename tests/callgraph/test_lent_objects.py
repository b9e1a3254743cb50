"""What one class, or one script, gives a name is not lent to code that it never meets."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

LOSSES = """
    from torch import nn

    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(64, 8)

        def get_loss(self, x, y):
            return nn.functional.binary_cross_entropy(self.fc(x).sigmoid(), y)

    class Good(nn.Module):
        def get_loss(self, x, y):
            return nn.functional.binary_cross_entropy_with_logits(x, y)
"""
BASE = """
    import torch

    class Trainer:
        def __init__(self):
            self.scaler = torch.amp.GradScaler("cuda")

        def step(self, x, y):
            self.opt.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = self.model.get_loss(x, y)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()

        def number(self):
            return sum(each.numel() for each in self.model.parameters())
"""
HEIR = """
    import torch
    from base import Trainer
    from losses import {name}

    class {name}Trainer(Trainer):
        def __init__(self):
            super().__init__()
            self.model = {name}().cuda()
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        {body}
"""
PLAIN = """def step(self, x, y):
            self.opt.zero_grad()
            self.model.get_loss(x, y).backward()
            self.opt.step()
"""
MAIN = """
    from first import GoodTrainer
    from second import BadTrainer

    def main(kind, loader):
        trainer = GoodTrainer() if kind == "good" else BadTrainer()
        for x, y in loader:
            trainer.step(x, y)
"""


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("pass", True),
        ("def other(self): return self.step", True),
        (PLAIN, False),
        ("def step(self, x, y):\n            return super().step(x + 1, y)", True),
        ("def step(self, x, y):\n            return Trainer.step(self, x + 1, y)", True),
    ],
)
def test_an_heir_that_replaces_a_method_gives_the_one_of_its_base_nothing(
    tmp_path: Path, body: str, is_found: bool
) -> None:
    root = project(
        tmp_path,
        losses=LOSSES,
        base=BASE,
        first=HEIR.format(name="Good", body="pass"),
        second=HEIR.format(name="Bad", body=body),
        main=MAIN,
    )
    assert found_in(root, select=("AMP304",)) == ({"losses.py:10 AMP304"} if is_found else set())


def test_an_heir_of_an_heir_that_replaces_a_method_gives_it_nothing(tmp_path: Path) -> None:
    between = "from base import Trainer\n\nclass Plain(Trainer):\n    " + PLAIN.replace("\n        ", "\n    ")
    root = project(
        tmp_path,
        losses=LOSSES,
        base=BASE,
        between=between,
        first=HEIR.format(name="Good", body="pass"),
        second=HEIR.format(name="Bad", body="pass")
        .replace("base import Trainer", "between import Plain")
        .replace("(Trainer)", "(Plain)"),
        main=MAIN,
    )
    assert found_in(root, select=("AMP304",)) == set()


UTILITIES = """
    import torch

    def loss_of(model, x, y):
        with torch.autocast("cuda", torch.float16):
            return model.get_loss(x, y)

    def told(x):
        return str(x)
"""
SCRIPT = """
    import torch
    from somelib import make
    from utilities import loss_of

    def train(loader):
        {name} = make()
        opt = torch.optim.SGD({name}.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            opt.zero_grad()
            scaler.scale(loss_of({name}, x, y)).backward()
            scaler.step(opt)
            scaler.update()
"""
OTHER_SCRIPT = """
    import torch
    from losses import Bad
    from utilities import {taken}

    def train(loader):
        model = Bad()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            opt.zero_grad()
            loss = {loss}
            loss.backward()
            opt.step()
"""


@pytest.mark.parametrize("name", ["model", "net"])
def test_what_a_library_makes_for_a_call_is_not_what_another_script_calls_so(tmp_path: Path, name: str) -> None:
    other = OTHER_SCRIPT.format(taken="told", loss="model.get_loss(x, y)")
    root = project(tmp_path, losses=LOSSES, utilities=UTILITIES, amp=SCRIPT.format(name=name), plain=other)
    assert found_in(root, select=("AMP304",)) == set()


def test_what_a_script_hands_over_itself_is_followed_beside_what_a_library_makes(tmp_path: Path) -> None:
    other = OTHER_SCRIPT.format(taken="loss_of", loss="loss_of(model, x, y)")
    root = project(tmp_path, losses=LOSSES, utilities=UTILITIES, amp=SCRIPT.format(name="model"), plain=other)
    assert found_in(root, select=("AMP304",)) == {"losses.py:10 AMP304"}
