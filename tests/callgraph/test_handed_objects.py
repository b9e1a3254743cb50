"""What a class keeps of its constructor's arguments is what the calls in other files give, by whatever names."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

TRAINER = """
    import torch
    from torch.nn.parallel import DistributedDataParallel

    class Trainer:
        def __init__(self, {parameter}, optimizer):
            self.{attribute} = {kept}
            self.optimizer = optimizer
            self.scaler = torch.amp.GradScaler("cuda")

        def fit(self, loader):
            for x in loader:
                self.optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.{attribute}(x)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
"""
NETS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(64, 1)

        def forward(self, x):
            return -torch.log(torch.sigmoid(self.fc(x))).mean()

    def build_net():
        return Net()
"""
FOUND = {"nets.py:11 AMP305"}


def main(variable: str, made: str = "Net()", given: str = "") -> str:
    """A script that makes a model and hands it to the trainer."""
    return f"""
    import torch
    from nets import Net, build_net
    from trainer import Trainer

    def main(loader):
        {variable} = {made}
        Trainer({given or variable}, torch.optim.Adam(torch.nn.Linear(1, 1).parameters())).fit(loader)
"""


@pytest.mark.parametrize("variable", ["net", "model", "network"])
@pytest.mark.parametrize("parameter", ["net", "model", "network"])
@pytest.mark.parametrize("attribute", ["net", "model", "network"])
def test_the_names_are_of_no_account(tmp_path: Path, variable: str, parameter: str, attribute: str) -> None:
    trainer = TRAINER.format(parameter=parameter, attribute=attribute, kept=parameter)
    root = project(tmp_path, nets=NETS, trainer=trainer, main=main(variable))
    assert found_in(root, select=("AMP305",)) == FOUND


@pytest.mark.parametrize(
    ("kept", "made", "is_found"),
    [
        ("network.to('cuda')", "Net()", True),
        ("DistributedDataParallel(network.cuda())", "Net()", True),
        ("network()", "build_net", True),
        ("network()", "Net", True),
        ("network()", "Net()", False),
        ("network", "build_net", False),
        ("network.part", "Net()", False),
    ],
)
def test_what_is_kept_of_an_argument(tmp_path: Path, kept: str, made: str, is_found: bool) -> None:
    trainer = TRAINER.format(parameter="network", attribute="model", kept=kept)
    root = project(tmp_path, nets=NETS, trainer=trainer, main=main("net", made))
    assert found_in(root, select=("AMP305",)) == (FOUND if is_found else set())


HANDS_ON = """
    import torch
    from trainer import Trainer

    def run(handed, loader):
        {before}
        Trainer(handed, torch.optim.Adam(handed.parameters())).fit(loader)
"""


@pytest.mark.parametrize(("before", "is_found"), [("pass", True), ("handed = torch.nn.Linear(64, 1)", False)])
def test_a_function_that_hands_on_what_it_is_given(tmp_path: Path, before: str, is_found: bool) -> None:
    script = """
    from nets import Net
    from running import run

    def main(loader):
        run(Net().cuda(), loader)
"""
    trainer = TRAINER.format(parameter="network", attribute="model", kept="network")
    root = project(tmp_path, nets=NETS, trainer=trainer, running=HANDS_ON.format(before=before), main=script)
    assert found_in(root, select=("AMP305",)) == (FOUND if is_found else set())
