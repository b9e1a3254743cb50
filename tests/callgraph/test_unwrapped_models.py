"""A model that a wrapper is taken off, or that gets another name, is the same model: its methods are found in other files."""

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

        def {method}(self, x):
            return -torch.log(torch.sigmoid(self.fc(x))).mean()
"""
UTIL = """
    def unparallelize(model):
        return model.module if hasattr(model, "module") else model

    def best_of(model):
        return model
"""
SCRIPT = """
    import torch
    import util
    from nets import Net

    def step(model, scaler, optimizer, x):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            net = {named}
            loss = net.embed(x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    def main(loader):
        model = Net()
        optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda")
        for x in loader:
            step({given}, scaler, optimizer, x)
"""
FOUND = {"nets.py:11 AMP305"}


def found(tmp_path: Path, named: str, given: str = "model") -> set[str]:
    root = project(
        tmp_path, nets=NETS.format(method="embed"), util=UTIL, script=SCRIPT.format(named=named, given=given)
    )
    return found_in(root, select=("AMP305",))


@pytest.mark.parametrize(
    "named",
    ["model", "util.unparallelize(model)", "model.module", 'model.module if hasattr(model, "module") else model'],
)
def test_the_model_behind_a_name(tmp_path: Path, named: str) -> None:
    assert found(tmp_path, named) == FOUND


@pytest.mark.parametrize("named", ["util.best_of(model)", 'model.module if hasattr(model, "module") else scaler'])
def test_a_name_that_may_stand_for_something_else(tmp_path: Path, named: str) -> None:
    assert found(tmp_path, named) == set()


@pytest.mark.parametrize(("maker", "expected"), [("Net()", FOUND), ("load()", set())])
def test_a_method_that_texts_have_too(tmp_path: Path, maker: str, expected: set[str]) -> None:
    """What a class makes is no text; what `encode` means of anything else is not searched for."""
    script = f"""
    import torch
    from nets import Net, load

    def main(loader, optimizer, scaler):
        model = {maker}
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model.encode(x)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""
    nets = NETS.format(method="encode") + "\n    def load():\n        return Net()\n"
    root = project(tmp_path, nets=nets, script=script)
    assert found_in(root, select=("AMP305",)) == expected


IN_ONE_FILE = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(64, 1)

        def encode(self, x):
            return -torch.log(torch.sigmoid(self.fc(x))).mean()

    def unwrapped(model):
        if isinstance(model, torch.nn.DataParallel):
            return model.module
        return model

    def main(loader):
        net = Net()
        model = {wrapped}
        optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda")
        for x in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = {unwrapped}.encode(x)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize("wrapped", ["torch.nn.DataParallel(net)", "accelerator.prepare(net)", "net.cuda()"])
@pytest.mark.parametrize("unwrapped", ["unwrapped(model)", "model.module", "accelerator.unwrap_model(model)"])
def test_the_model_behind_a_wrapper(tmp_path: Path, wrapped: str, unwrapped: str) -> None:
    root = project(tmp_path, script=IN_ONE_FILE.format(wrapped=wrapped, unwrapped=unwrapped))
    assert found_in(root, select=("AMP305",)) == {"script.py:10 AMP305"}
