"""Which losses the tests around a backward pass let through, told without running them."""

from __future__ import annotations

import math

import pytest

from amplint.runtime.experiments.loss_guards import guarded_pass, number_of_pass

LOOP = """\
def train(model, loader, optimizer, every):
    for x, y in loader:
        loss = model(x, y)
{guard}
        (loss / every).backward()
{behind}
        optimizer.step()
"""


def steps(guard: str, behind: str = "") -> tuple[bool | None, ...]:
    """Whether a step is taken on a good loss, on NaN, and on infinity."""
    indented = ("\n".join(f"        {line}" for line in each.split("\n")) for each in (guard, behind))
    text = LOOP.format(**dict(zip(("guard", "behind"), indented)))
    row = next(number for number, line in enumerate(text.split("\n"), 1) if "backward" in line)
    passed = guarded_pass(text, "train", number_of_pass(text, row))
    assert passed is not None
    return tuple(passed.steps_on(value) for value in (1.0, math.nan, math.inf))


@pytest.mark.parametrize(
    "guard",
    [
        "if not loss.isfinite():\n    raise FloatingPointError",
        "if not torch.isfinite(loss).all():\n    continue",
        "if torch.isnan(loss) or torch.isinf(loss):\n    break",
        "if not math.isfinite(loss.item()):\n    return",
        "if ~(loss / every).isfinite():\n    continue",
    ],
)
def test_a_batch_whose_loss_is_no_number_is_left_out(guard: str) -> None:
    assert steps(guard) == (True, False, False)


def test_what_lets_it_through_or_leaves_out_more_is_told() -> None:
    assert steps("if loss.isnan():\n    continue") == (True, False, True)
    assert steps("if loss.isfinite():\n    continue") == (False, True, True)
    assert steps("if not loss.isfinite() or True:\n    continue") == (False, False, False)
    assert steps("if not loss.isfinite():\n    print(loss)") == (True, True, True)
    assert steps("pass", "if not loss.isfinite():\n    continue") == (True, False, False)


def test_what_asks_for_something_else_is_not_told() -> None:
    assert steps("if too_bad(loss):\n    continue") == (None, None, None)
    assert steps("if verbose:\n    print(loss)") == (True, True, True)
