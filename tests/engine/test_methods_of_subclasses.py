"""A method that a class calls on itself, and leaves to its subclasses, is entered in the files of those."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

BASE = """
import torch
from torch import nn


class Base(nn.Module):
    def fit(self, loader, optimizer, scaler):
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = {called}.mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

{own}
"""
NET = """
from torch import nn
from {module} import {base}


class Net({base}):
    def __init__(self, size):
        super().__init__()
        self.score = nn.Linear(size, size)

    def {method}(self, x):
        scores = self.score(x)
        return scores / (scores.std(-1, keepdim=True) + 1e-8)


class Other(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.score = nn.Linear(size, size)

    def {method}(self, x):
        scores = self.score(x)
        return scores / (scores.std(-1, keepdim=True) + 1e-8)
"""
MIDDLE = """
from base import Base


class Middle(Base):
    def evaluate(self):
        return self.eval()
"""
ABSTRACT = """
    def compute(self, x):
        '''The scores.'''
        raise NotImplementedError
"""
OWN = """
    def compute(self, x):
        return x
"""
FOUND = {"net.py:13 AMP302"}


def found(root: Path, called: str, own: str = "", method: str = "", base: str = "base.Base") -> set[str]:
    method = method or called.partition("(")[0].removeprefix("self.")
    module, _, name = base.partition(".")
    files = {
        "base": BASE.format(called=called, own=own),
        "net": NET.format(method=method, module=module, base=name),
        "middle": MIDDLE,
    }
    return found_in(project(root, **files), select=("AMP302",))


@pytest.mark.parametrize(
    ("called", "method"), [("self.forward(x)", ""), ("self.compute(x)", ""), ("self(x)", "forward")]
)
def test_a_method_that_only_subclasses_have(tmp_path: Path, called: str, method: str) -> None:
    assert found(tmp_path, called, method=method) == FOUND


def test_a_subclass_of_a_subclass(tmp_path: Path) -> None:
    assert found(tmp_path, "self.compute(x)", base="middle.Middle") == FOUND


def test_a_method_that_the_class_only_announces(tmp_path: Path) -> None:
    assert found(tmp_path, "self.compute(x)", ABSTRACT) == FOUND


@pytest.mark.parametrize(
    ("called", "own", "method"),
    [
        ("self.compute(x)", "", "score_all"),
        ("self.compute(x)", OWN, "compute"),
        ("torch.relu(x)", "", "forward"),
    ],
)
def test_methods_that_the_class_does_not_call_or_has_itself(tmp_path: Path, called: str, own: str, method: str) -> None:
    assert found(tmp_path, called, own, method) == set()


@pytest.mark.parametrize(("mine", "expected"), [("True", FOUND), ("False", set()), ("False if torch else True", FOUND)])
def test_a_subclass_that_switches_the_region_off(tmp_path: Path, mine: str, expected: set[str]) -> None:
    base = BASE.format(called="self.compute(x)", own="").replace("float16)", "float16, enabled=self.half)")
    base = base.replace("class Base(nn.Module):", "class Base(nn.Module):\n    half = True\n")
    net = NET.format(method="compute", module="base", base="Base")
    net = net.replace("class Net(Base):\n", f"class Net(Base):\n    half = {mine}\n", 1).replace("\n\n\n", "\n\n", 1)
    assert found_in(project(tmp_path, base=base, net=net), select=("AMP302",)) == expected


CALLED_FROM_ELSEWHERE = """
import torch
from net import Net


def fit(loader, optimizer, scaler):
    {made}
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
PLAIN_BASE = """
from torch import nn


class Base(nn.Module):
    def forward(self, x):
        return self.compute(x)
"""


@pytest.mark.parametrize(("made", "expected"), [("net = Net(8)", FOUND), ("net = torch.nn.Linear(8, 8)", set())])
def test_a_base_in_which_nothing_of_amp_stands(tmp_path: Path, made: str, expected: set[str]) -> None:
    """The region is entered in one file, leads to the base in another, and from there to the method in a third."""
    net = NET.format(module="base", base="Base", method="compute")
    root = project(tmp_path, base=PLAIN_BASE, net=net, script=CALLED_FROM_ELSEWHERE.format(made=made))
    assert found_in(root, select=("AMP302",)) == expected
