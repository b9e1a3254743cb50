"""A criterion of another file is called outside the region, on what a model gave inside it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from project import found_in, project

CRITERIA = """
import torch
import torch.nn.functional as F


class Criterion:
    def __init__(self, weight):
        self.weight = weight
        self.bce = torch.nn.BCEWithLogitsLoss(reduction="none")

    def __call__(self, outputs, targets):
        scores = torch.cat([each.flatten(1) for each in outputs], 1)
        return self.weight * {loss}
"""
TRAIN = """
import torch
from criteria import Criterion


def train(model, loader, optimizer, scaler):
    criterion = Criterion(0.5)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(x)
{call}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
OUTSIDE = "        loss = criterion(outputs, y)"
FOUND = {"criteria.py:13 AMP211"}


def found(root: Path, loss: str, call: str = OUTSIDE) -> set[str]:
    files = {"criteria": CRITERIA.format(loss=loss), "train": TRAIN.format(call=call)}
    return found_in(project(root, **files), select=("AMP211",))


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(scores, targets)",
        "self.bce(scores, targets.to(scores.dtype)).mean()",
        "F.binary_cross_entropy_with_logits(scores, targets.half())",
    ],
)
def test_it_classifies_in_half(tmp_path: Path, loss: str) -> None:
    assert found(tmp_path, loss) == FOUND


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(scores.float(), targets)",
        "self.bce(scores, targets.float()).mean()",
        "F.mse_loss(scores, targets)",
        "F.l1_loss(scores, scores.detach())",
    ],
)
def test_it_widens_or_may_be_given_anything(tmp_path: Path, loss: str) -> None:
    assert found(tmp_path, loss) == set()


@pytest.mark.parametrize(
    "call",
    ["            loss = criterion(outputs, y)", "        loss = criterion([each.float() for each in outputs], y)"],
)
def test_it_is_called_in_the_region_or_on_float32(tmp_path: Path, call: str) -> None:
    assert found(tmp_path, "F.cross_entropy(scores, targets)", call) == set()


def test_what_a_test_gives_a_loss_is_no_training(tmp_path: Path) -> None:
    """The same calls are told in a file that is no test."""
    losses = """
        import torch
        from torch import nn
        from torch.nn import functional as F

        class Likeness(nn.Module):
            def forward(self, one, other):
                scores = torch.matmul(torch.cat([one, other]), torch.cat([one, other]).T)
                return F.cross_entropy(scores, torch.arange(scores.shape[0]))

        class Weighted(nn.Module):
            def __init__(self, inner: Likeness):
                super().__init__()
                self.inner = inner

            def forward(self, one, other):
                return 0.5 * self.inner(one, other)
    """
    tried = """
        import torch
        from losses import Likeness, Weighted

        def test_half():
            assert Weighted(Likeness())(torch.randn(4, 8).half(), torch.randn(4, 8).half()) > 0

        def test_region():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert Weighted(Likeness())(torch.randn(4, 8), torch.randn(4, 8)) > 0
    """
    assert "losses.py:9 AMP211" in found_in(project(tmp_path / "one", losses=losses, tried=tried))
    named = project(tmp_path / "two", losses=losses)
    for more in (
        "",
        "\n\ndef test_step():\n    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)\n    optimizer.step()\n",
    ):
        (named / "test_losses.py").write_text(textwrap.dedent(tried) + more)
        assert "losses.py:9 AMP211" not in found_in(named)


LOSSES = """
import torch
import torch.nn.functional as F


def kld(mu, logvar):
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def adversarial(score):
    return F.binary_cross_entropy(torch.sigmoid(score), torch.ones_like(score))
"""
STARRED = """
import torch
from losses import *
{others}

net = torch.nn.Linear(16, 8).cuda()
optimizer = torch.optim.Adam(net.parameters())
scaler = torch.amp.GradScaler("cuda")
for x in range(10):
    optimizer.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.float16):
        mu, logvar = net(torch.rand(4, 16).cuda()).chunk(2, dim=1)
        loss = kld(mu, logvar) + adversarial(mu)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize("others", ["", "from numpy import *", "from others import *"])
def test_functions_that_a_star_import_brings(tmp_path: Path, others: str) -> None:
    files = {"losses": LOSSES, "train": STARRED.format(others=others), "others": "def kl(mu):\n    return mu\n"}
    expected = {"losses.py:7 AMP301", "losses.py:11 AMP304"}
    assert found_in(project(tmp_path, **files), select=("AMP301", "AMP304")) == expected
