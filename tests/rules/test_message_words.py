"""Messages name things as they stand in the code, and write one number in one way."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.source import Source

FIXTURES = Path(__file__).parents[2] / "fixtures"


def told(name: str) -> list[str]:
    """The message and the note of each finding in a fixture of the rule that its folder is called after."""
    path = next(FIXTURES.glob(f"{name}.py"))
    rules = tuple(rule for rule in load_rules() if rule.code == path.parent.name[:6].upper())
    report = lint_source(Source(str(path), path.read_text()), rules)
    return [f"{each.message}. {each.note}" for each in report.diagnostics]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("amp204*/flagged_alias_of_the_class", "`with` is given `half_precision`, which is not called"),
        ("amp204*/flagged_partial_not_called", "`with` is given `amp`, which is not called"),
        ("amp204*/flagged_bare_call_at_top", "`autocast` makes an autocast region that nothing enters"),
        ("amp204*/flagged_old_decorator_without_call", "`amp.autocast` decorates a function without being called"),
        ("amp204*/flagged_one_of_two", "`with` may be given `torch.autocast`, which is not called"),
    ],
)
def test_a_region_is_named_as_in_the_code(name: str, message: str) -> None:
    assert message in told(name)[0]


@pytest.mark.parametrize(
    "name",
    [
        "amp106*/flagged_default_cuda",
        "amp116*/flagged_wasserstein",
        "amp301*/flagged_sigmoid_eps",
        "amp302*/flagged_clamp_min",
    ],
)
def test_what_float16_loses_is_one_number(name: str) -> None:
    assert all("2.98e-8" in each for each in told(name))


def test_a_loss_without_a_gradient_is_only_reported() -> None:
    evaluated, trained = told("amp211*/flagged_either_half")
    assert "no gradient flows here, but the loss that is reported keeps two or three digits" in evaluated
    assert "gradient" not in trained


def test_a_loss_that_is_validated_first_is_trained_by_all_the_same() -> None:
    assert all("gradient" not in each for each in told("amp211*/flagged_validated_first"))
