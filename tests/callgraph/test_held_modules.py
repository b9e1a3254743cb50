"""Objects of other files that a container, or a property, holds: what they run is entered under the caller's region."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

LOSSES = """
    import torch
    from torch import nn

    class Entropy(nn.Module):
        def forward(self, scores):
            return torch.log(torch.softmax(scores, -1)).mean()

    class Square(nn.Module):
        def forward(self, scores):
            return torch.log(torch.softmax(scores.float(), -1)).mean()

    class Holder:
        def __init__(self):
            self._entropy = Entropy()

        @property
        def criterion(self):
            return self._entropy

        def other(self, scores):
            return scores
"""
TRAIN = """
    import torch
    from torch import nn
    from losses import Entropy, Holder, Square

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, 64)

        def forward(self, x):
            return self.head(x)

    def train(loader, optimizer, scaler):
        net = Net().cuda()
        held = {held}
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = {called}
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize(
    ("held", "called", "expected"),
    [
        ('nn.ModuleDict({"a": Entropy(), "b": Square()})', 'held["a"](net(x))', {"losses.py:7 AMP305"}),
        ('nn.ModuleDict({"a": Entropy(), "b": Square()}).cuda()', 'held["a"](net(x))', {"losses.py:7 AMP305"}),
        ('{"a": Entropy(), "b": Square()}', 'held["a"](net(x))', {"losses.py:7 AMP305"}),
        ('nn.ModuleDict({"a": Entropy(), "b": Square()})', 'held["b"](net(x))', {"losses.py:11 AMP305"}),
        ("Holder()", "held.criterion(net(x))", {"losses.py:7 AMP305"}),
        ("Holder()", "held.other(net(x)).mean()", set()),
    ],
)
def test_what_holds_a_loss_leads_to_it(tmp_path: Path, held: str, called: str, expected: set[str]) -> None:
    root = project(tmp_path, losses=LOSSES, train=TRAIN.format(held=held, called=called))
    assert {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")} == expected


def test_an_element_of_a_table_that_an_object_was_given_leads_to_a_loss(tmp_path: Path) -> None:
    trainer = """
        import torch

        class Trainer:
            def __init__(self, net, losses, loader):
                self.net, self.losses, self.loader = net, losses, loader
                self.optimizer = torch.optim.AdamW(net.parameters())
                self.scaler = torch.amp.GradScaler("cuda")

            def train(self):
                for x, weights in self.loader:
                    self.optimizer.zero_grad()
                    with torch.autocast("cuda", dtype=torch.float16):
                        loss = self.losses["a"](x @ weights)
                    self.scaler.scale(loss).backward()
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
    """
    main = """
        from losses import Entropy, Square
        from trainer import Trainer

        Trainer(net, {"a": Entropy(), "b": Square()}, loader).train()
    """
    root = project(tmp_path, losses=LOSSES, trainer=trainer, main=main)
    assert {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")} == {"losses.py:7 AMP305"}
