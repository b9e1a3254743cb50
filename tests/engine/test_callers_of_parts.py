"""Modules that a class of another file makes, holds or runs in a loop are entered under the region of the caller."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

BLOCKS = """
import torch
from torch import nn
from library import PreTrained


class Gate(PreTrained):
    def __init__(self, config):
        super().__init__(config)
        self.score = nn.Linear(64, 64)

    def forward(self, x, mask=None):
        scores = self.score(x)
        return scores / (scores.std(-1, keepdim=True) + 1e-8)

    def compute(self, x):
        return self.forward(x).mean()


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(64, 64)

    def forward(self, x):
        return self.score(x) / (x.std(-1, keepdim=True) + 1e-8)
"""
NET = """
from torch import nn
from blocks import Gate, Plain


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.first = Plain()
        self.gates = {made}

    def forward(self, x):
        {run}
        return x.mean()
"""
TRAIN = """
import torch
from net import Net
from blocks import Gate


def train(args, loader, optimizer, scaler):
    {made}
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = {loss}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
MANY = "nn.ModuleList([Gate(config) for _ in range(3)])"
GATE = "blocks.py:14 AMP302"


def found(root: Path) -> set[str]:
    return found_in(root, select=("AMP302",))


@pytest.mark.parametrize(
    ("made", "loss"),
    [
        ("net = Gate.from_pretrained(args.checkpoint).cuda()", "net(x).mean()"),
        ("net = Gate.load_from_checkpoint(args.checkpoint)", "net(x).mean()"),
        ("net = torch.nn.DataParallel(Gate(args))", "net.module.compute(x)"),
        ("net = Gate(args)", "(net if args.gpus == 1 else net.module).compute(x)"),
        ("gates = [Gate(args) for _ in range(4)]", "gates[args.group](x).mean()"),
        ("gates = [Gate(args), Gate(None)]", "gates[args.group](x).mean()"),
    ],
)
def test_a_model_is_entered_however_it_is_made_and_called(tmp_path: Path, made: str, loss: str) -> None:
    root = project(tmp_path, blocks=BLOCKS, net="Net = None\n", train=TRAIN.format(made=made, loss=loss))
    assert found(root) == {GATE}


@pytest.mark.parametrize(
    ("made", "loss"),
    [
        ("net = Gate.describe(args.checkpoint)", "net(x).mean()"),
        ("net = unknown.from_pretrained(args.checkpoint)", "net(x).mean()"),
        ("holder = unknown(Gate(args))", "(holder if args.gpus == 1 else holder.part).compute(x)"),
        ("sizes = [Gate(args).size for _ in range(4)]", "sizes[args.group](x).mean()"),
    ],
)
def test_something_else_enters_nothing(tmp_path: Path, made: str, loss: str) -> None:
    root = project(tmp_path, blocks=BLOCKS, net="Net = None\n", train=TRAIN.format(made=made, loss=loss))
    assert found(root) == set()


def test_a_method_of_the_class_itself_says_what_it_makes(tmp_path: Path) -> None:
    own = BLOCKS + "\n    @classmethod\n    def from_pretrained(cls, path):\n        return load(path)\n"
    train = TRAIN.format(made="net = Plain.from_pretrained(args.checkpoint)", loss="net(x).mean()")
    root = project(tmp_path, blocks=own, net="Net = None\n", train=train.replace("import Gate", "import Plain"))
    assert found(root) == set()


@pytest.mark.parametrize(
    ("made", "run"),
    [
        (MANY, "for gate in self.gates: x = gate(x)"),
        (MANY, "for gate in self.gates[1:]: x = gate(x)"),
        (MANY, "for i, gate in enumerate(self.gates): x = gate(x, i)"),
        (MANY, "for gate, mask in zip(self.gates, x): x = gate(x, mask)"),
        ("nn.ModuleList([Gate(config), Gate(config)])", "x = self.gates[0](x)"),
        ("nn.ModuleDict({'a': Gate(config)})", "for name, gate in self.gates.items(): x = gate(x)"),
        ("nn.Sequential(Gate(config), nn.ReLU())", "x = self.gates(x)"),
        ("nn.Sequential(*[Gate(config) for _ in range(2)])", "x = self.gates(x)"),
    ],
)
def test_parts_are_entered_that_a_loop_or_a_chain_runs(tmp_path: Path, made: str, run: str) -> None:
    train = TRAIN.format(made="net = Net(args).cuda()", loss="net(x)")
    root = project(tmp_path, blocks=BLOCKS, net=NET.format(made=made, run=run), train=train)
    assert found(root) == {GATE}


@pytest.mark.parametrize(
    ("run", "expected"),
    [("x = self.first(nn.Linear(8, 8)(x))", {"blocks.py:26 AMP302"}), ("x = self.gates(nn.Linear(8, 8)(x))", set())],
)
def test_only_the_first_of_a_chain_gets_what_the_chain_is_given(tmp_path: Path, run: str, expected: set[str]) -> None:
    made = "nn.Sequential(nn.LayerNorm(64), Plain())"
    train = TRAIN.format(made="net = Net(args).cuda()", loss="net(x)")
    root = project(tmp_path, blocks=BLOCKS, net=NET.format(made=made, run=run), train=train)
    assert found(root) == expected
