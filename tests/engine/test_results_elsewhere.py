"""What a layer or a function of another file gives back is known where it is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

LAYERS = """
import torch
from torch import nn
from torch.nn import functional as F
from inner import Inner
from library import decorated


class Layer(nn.Module):
    def __init__(self, size, act=nn.GELU, norm=None):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.inner = Inner(size)
        self.norm = nn.LayerNorm(size)
        self.act = act()
        self.wide = norm is not None
        self.gain = nn.Parameter(torch.ones(size))
        self.register_buffer("mean", torch.zeros(size))

    {decorator}
    def forward(self, x, mask=None):
{body}


def project(x, weight):
    return F.linear(x, weight)


def make(size):
    return Layer(size)
"""
INNER = """
from torch import nn


class Inner(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return self.linear(x)
"""
NET = """
import torch
from torch import nn
import layers
from layers import Layer


class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size, size))
        self.layer = {made}

    def forward(self, x):
        y = {call}
        return y / (y.std(-1, keepdim=True) + 1e-8)
"""
TRAIN = """
import torch
from net import Net


def train(loader, args):
    net = Net(args.size).cuda()
    optimizer, scaler = torch.optim.SGD(net.parameters(), 0.1), torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
FOUND = {"net.py:16 AMP302"}
DISABLED = 'with torch.autocast("cuda", enabled=False):\n            return F.linear(x.float(), self.linear.weight)'


def written(body: str, decorator: str = "") -> str:
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    return LAYERS.format(body=lines, decorator=decorator)


def found(
    root: Path, body: str, call: str = "self.layer(x)", made: str = "Layer(size)", decorator: str = ""
) -> set[str]:
    files = {
        "layers": written(body, decorator),
        "inner": INNER,
        "net": NET.format(made=made, call=call),
        "train": TRAIN,
    }
    return found_in(project(root, **files), select=("AMP302",))


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("return self.linear(x)", "self.layer(x)"),
        ("return self.inner(x)", "self.layer(x)"),
        ("return self.linear(self.act(x))", "self.layer(x).relu()"),
        ("return x, self.linear(x)", "self.layer(x)[1]"),
        ("return {'mean': x, 'scores': self.linear(x)}", "self.layer(x)['scores']"),
        ("if mask is None:\n    return self.linear(x)\nreturn self.linear(x) * 2", "self.layer(x)"),
        ("return x", "layers.project(x, self.weight)"),
    ],
)
def test_the_layer_gives_back_float16(tmp_path: Path, body: str, call: str) -> None:
    assert found(tmp_path, body, call) == FOUND


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("return self.linear(x).float()", "self.layer(x)"),
        ("return self.inner(x).float()", "self.layer(x)"),
        (f"{DISABLED.replace(chr(10) + ' ' * 8, chr(10))}", "self.layer(x)"),
        ("return self.norm(x)", "self.layer(x)"),
        ("return self.linear(x) * self.gain", "self.layer(x)"),
        ("return self.linear(x) - self.mean", "self.layer(x)"),
        ("return self.linear(x), self.linear(x).float()", "self.layer(x)[1]"),
        ("return {'scores': self.linear(x), 'mean': self.norm(x)}", "self.layer(x)['mean']"),
        ("y = self.linear(x)\nreturn y.float() if self.wide else y", "self.layer(x)"),
        ("if self.wide:\n    return self.norm(x)\nreturn self.linear(x)", "self.layer(x)"),
        ("return self.linear(x) if mask is None else self.forward(x)", "self.layer(x)"),
        ("yield self.linear(x)", "self.layer(x)"),
    ],
)
def test_the_layer_gives_back_float32_or_nobody_knows_what(tmp_path: Path, body: str, call: str) -> None:
    assert found(tmp_path, body, call) == set()


def test_defaults_that_are_layers_may_be_others(tmp_path: Path) -> None:
    assert found(tmp_path, "return self.act(self.linear(x))", made="Layer(size, nn.Softmax)") == set()


def test_a_default_is_none_of_what_is_given(tmp_path: Path) -> None:
    body = "return self.linear(x) if mask is None else self.linear(x) * mask"
    assert found(tmp_path, body, "self.layer(x, mask=self.weight)") == set()


@pytest.mark.parametrize(("decorator", "expected"), [("@decorated", set()), ("@torch.jit.export", FOUND)])
def test_what_a_decorator_makes_of_it_is_unknown(tmp_path: Path, decorator: str, expected: set[str]) -> None:
    assert found(tmp_path, "return self.linear(x)", decorator=decorator) == expected


@pytest.mark.parametrize(
    "made",
    [
        "Layer(size) if size else nn.LayerNorm(size)",
        "library.prepare(Layer(size))",
        "[Layer, nn.LayerNorm][size](size)",
    ],
)
def test_another_module_may_be_called(tmp_path: Path, made: str) -> None:
    assert found(tmp_path, "return self.linear(x)", made=made) == set()


@pytest.mark.parametrize(
    ("body", "given", "expected"),
    [
        ("return self.linear(x)", "Layer(args.size)", FOUND),
        ("return self.norm(x)", "Layer(args.size)", set()),
        ("return self.linear(x)", "args.layer", set()),
    ],
)
def test_a_layer_that_the_model_is_given(tmp_path: Path, body: str, given: str, expected: set[str]) -> None:
    net = NET.format(made="layer", call="self.layer(x)").replace("(self, size)", "(self, size, layer)")
    train = TRAIN.replace("import Net", "import Net\nfrom layers import Layer").replace(
        "(args.size)", f"(args.size, {given})"
    )
    files = {"layers": written(body), "inner": INNER, "net": net, "train": train}
    assert found_in(project(tmp_path, **files), select=("AMP302",)) == expected
