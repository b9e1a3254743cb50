"""What another repair computes, held against the fix of the rule."""

from __future__ import annotations

import pytest

from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.numeric.other_values import other_values

LOOP = """\
import torch


def train(model, loader, optimizer, scaler, every):
    total = 0.0
    for x, y in loader:
        loss = model(x, y)
        scaler.scale(loss / every).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
        print(f"loss {float(loss):.4f}")
    return total
"""


PENALTY = """\
import torch


def step(critic, real, fake, alpha, scaler):
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_()
    score = critic(mixed)
    slopes = torch.autograd.grad(scaler.scale(score.sum()), mixed, create_graph=True)[0] / scaler.get_scale()
    loss = critic(fake).mean() + 10 * (slopes ** 2).mean()
    scaler.scale(loss).backward()
"""


def differing(old: str, new: str, text: str = LOOP) -> list[str]:
    """What differs with something else in the place of a part of a text."""
    assert old in text
    own, after = (File(Tree(Source("train.py", each)), torch=(2, 3)) for each in (text, text.replace(old, new)))
    return [each.what for each in other_values(own, after, 0)]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("scale(loss / every)", "scale(loss * 0 / every)", "the loss that is run backward"),
        ("scale(loss / every)", "scale(loss.detach() / every)", "the loss that is run backward"),
        ("+= loss.item()", "+= loss.item() * scaler.get_scale()", "what `total` is given"),
        ("float(loss)", "float(loss * 2)", "what `print` is given"),
    ],
)
def test_another_value_is_told(old: str, new: str, what: str) -> None:
    assert what in differing(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale(loss / every)", "scale(1 / every * loss)"),
        ("scaler.scale(loss / every).backward()", "scaled = scaler.scale(loss)\n        (scaled / every).backward()"),
        ("scaler.scale(loss / every).backward()", "(loss / every).backward()"),
        ("+= loss.item()", "+= scaler.scale(loss).item() / scaler.get_scale()"),
        ("float(loss)", "loss.item()"),
        ("model(x, y)", "model(y, x)"),
    ],
)
def test_the_same_value_and_one_that_is_not_known_are_not(old: str, new: str) -> None:
    assert differing(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("score.sum()", "score.mean()", "what an inner gradient is taken of"),
        ("score.sum()", "score.sum() ** 2", "what an inner gradient is taken of"),
        ("mixed, create_graph", "fake, create_graph", "what an inner gradient is taken for"),
        ("create_graph=True", "retain_graph=True", "the loss that is run backward"),
        (" / scaler.get_scale()", "", "the loss that is run backward"),
        ("scaler.scale(score.sum())", "score.sum()", "the loss that is run backward"),
    ],
)
def test_another_inner_gradient_is_told(old: str, new: str, what: str) -> None:
    assert what in differing(old, new, PENALTY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "torch.autograd.grad(scaler.scale(score.sum()), mixed, create_graph=True)[0] / scaler.get_scale()",
            "torch.autograd.grad(outputs=score.sum(), inputs=[mixed], create_graph=True)[0]",
        ),
        ("[0] / scaler.get_scale()", "[0] * (1.0 / scaler.get_scale())"),
        ("scaler.scale(score.sum()), mixed", "scaler.scale(score), mixed, torch.ones_like(score)"),
    ],
)
def test_the_same_inner_gradient_in_other_words_is_not(old: str, new: str) -> None:
    assert differing(old, new, PENALTY) == []
