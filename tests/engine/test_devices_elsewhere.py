"""A region is given a device that another file makes: a `torch.device`, which autocast does not take."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

ENGINE = """
import torch


def evaluate(model, loader, device):
    for x in loader:
        with torch.amp.autocast(device_type=device, dtype=torch.float16):
            model(x.to(device))


class Runner:
    def __init__(self, model, device):
        self.model, self.device = model, device

    def run(self, loader):
        for x in loader:
            with torch.amp.autocast(self.device, dtype=torch.float16):
                self.model(x)
"""
MAIN = """
import torch
from engine import Runner, evaluate


def main(args, model, loader):
    device = {made}
    evaluate(model, loader, device)
    Runner(model, {given}).run(loader)
"""


def found(root: Path, made: str, given: str = "device") -> set[str]:
    return found_in(project(root, engine=ENGINE, main=MAIN.format(made=made, given=given)), select=("AMP205",))


@pytest.mark.parametrize(
    "made", ['torch.device("cuda")', "torch.device(args.device)", 'torch.device("cuda" if args.gpu else "cpu")']
)
def test_a_device_that_is_given(tmp_path: Path, made: str) -> None:
    assert found(tmp_path, made) == {"engine.py:7 AMP205", "engine.py:17 AMP205"}


@pytest.mark.parametrize(
    "made", ['"cuda"', "args.device", 'torch.device("cuda").type', 'torch.device("cuda") or "cpu"']
)
def test_what_may_be_a_string(tmp_path: Path, made: str) -> None:
    assert found(tmp_path, made) == set()


def test_one_of_several_calls_gives_a_string(tmp_path: Path) -> None:
    assert found(tmp_path, 'torch.device("cuda")', '"cuda"') == {"engine.py:7 AMP205"}
