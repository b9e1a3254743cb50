"""Which rules run on a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.engine.config import ConfigError, Settings
from amplint.engine.registry import RuleInfo
from amplint.engine.selection import active_codes

ROOT = Path("/project")
RULES = (
    RuleInfo("AMP101", "clip-before-unscale", "", "safe", True, (), "", "error", "high", "0.1.0"),
    RuleInfo("AMP104", "step-bypasses-scaler", "", "safe", True, (), "", "error", "high", "0.1.0"),
    RuleInfo("AMP202", "eval-without-autocast", "", "unsafe", False, (), "", "info", "medium", "0.1.0"),
    RuleInfo("HOUSE1", "bad-house", "", None, True, (), "", "error", "high", "0.1.0"),
)
ENGINE = {"AMP900", "AMP901", "AMP902"}


def active(path: str = "train.py", /, **settings: object) -> set[str]:
    return set(active_codes(Settings(ROOT, **settings), ROOT / path, RULES))  # type: ignore[arg-type]


def test_the_default_set() -> None:
    assert active() == {"AMP101", "AMP104", "HOUSE1"} | ENGINE


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        ("AMP101", {"AMP101"}),
        ("amp101", {"AMP101"}),
        ("amp1", {"AMP101", "AMP104"}),
        ("Clip-Before-Unscale", {"AMP101"}),
        ("all", {"AMP101", "AMP104", "AMP202", "HOUSE1"} | ENGINE),
        ("AMP1", {"AMP101", "AMP104"}),
        ("AMP", {"AMP101", "AMP104", "AMP202"} | ENGINE),
        ("HOUSE", {"HOUSE1"}),
        ("eval-without-autocast", {"AMP202"}),
        ("ALL", {"AMP101", "AMP104", "AMP202", "HOUSE1"} | ENGINE),
        ("unused-suppression", {"AMP901"}),
    ],
)
def test_selectors(selector: str, codes: set[str]) -> None:
    assert active(select=(selector,)) == codes | {"AMP900"}, "a syntax error is never left out by selecting"
    assert active(extend_select=(selector,)) == active() | codes
    assert active(ignore=(selector,)) == active() - codes
    assert active(per_file_ignores=(("*.py", (selector,)),)) == active() - codes


def test_the_more_specific_selector_wins() -> None:
    assert active(select=("AMP101",), ignore=("AMP1",)) == {"AMP101", "AMP900"}
    assert active(select=("AMP1",), ignore=("AMP101",)) == {"AMP104", "AMP900"}
    assert active(select=("ALL",), ignore=("AMP",)) == {"HOUSE1"}
    assert active(select=("AMP1",), ignore=("clip-before-unscale", "AMP10")) == {"AMP900"}
    assert active(ignore=("ALL",), extend_select=("clip-before-unscale",)) == {"AMP101"}
    assert active(select=("AMP101",), ignore=("AMP101",)) == {"AMP900"}


def test_what_a_file_ignores_is_taken_away_last() -> None:
    ignores = (("tests/", ("AMP1",)), ("*_gpu.py", ("bad-house",)))
    assert active("tests/a.py", select=("AMP101", "HOUSE1"), per_file_ignores=ignores) == {"HOUSE1", "AMP900"}
    assert active("tests/a_gpu.py", select=("AMP101", "HOUSE1"), per_file_ignores=ignores) == {"AMP900"}
    assert active("src/a.py", select=("AMP101", "HOUSE1"), per_file_ignores=ignores) == {"AMP101", "HOUSE1", "AMP900"}


def test_a_pattern_may_speak_of_all_other_files() -> None:
    ignores = (("!src/", ("AMP1",)),)
    assert "AMP101" in active("src/a.py", per_file_ignores=ignores)
    assert "AMP101" not in active("tests/a.py", per_file_ignores=ignores)


@pytest.mark.parametrize("key", ["select", "extend_select", "ignore"])
@pytest.mark.parametrize(
    ("selector", "near"),
    [
        ("AMP9999", "; `amplint rules` lists them"),
        ("AMP105", "; `amplint rules` lists them"),
        ("amp105", "; `amplint rules` lists them"),
        ("AM", ""),
        ("clip-before-unscaled", "; did you mean `clip-before-unscale`?"),
        ("AMP0", ""),
        ("", ""),
        ("E501", ""),
    ],
)
def test_unknown_selectors_are_errors(key: str, selector: str, near: str) -> None:
    with pytest.raises(ConfigError) as error:
        active("train.py", origin="pyproject.toml", **{key: (selector,)})
    assert str(error.value).startswith(f"pyproject.toml: `{key.replace('_', '-')}`: unknown rule `{selector}`{near}")


def test_an_unknown_selector_for_some_other_file_is_an_error_too() -> None:
    with pytest.raises(ConfigError, match="`per-file-ignores`: unknown rule `AMP777`"):
        active("src/a.py", per_file_ignores=(("tests/", ("AMP777",)),), origin="amplint.toml")
