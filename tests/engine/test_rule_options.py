"""Options of single rules: declared by the rule, chosen in the settings, asked by the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplint.engine.checker import check_bytes
from amplint.engine.config import ConfigError, Settings, inline
from amplint.engine.registry import RuleInfo, load_rules, rule_index
from amplint.engine.selection import rule_options
from amplint.model.rule_options import Option, options_section

MULTIPLE = Option("AMP401", "multiple", 8, "Sizes are to be multiples of it.")
NAMES = Option[tuple[str, ...]]("AMP401", "names", ("a", "b"), "What is counted in.")
RULES = (
    RuleInfo("AMP101", "clip-before-unscale", "", "safe", True, (), "", "error", "high", "0.1.0"),
    RuleInfo("AMP401", "misaligned-linear", "", None, True, (), "", "info", "low", "0.1.0", options=(MULTIPLE, NAMES)),
)
MODEL = b"""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(784, 504), nn.ReLU(), nn.Linear(504, 10)).cuda()

def predict(images):
    with torch.amp.autocast("cuda"):
        return model(images)
"""


def chosen(text: str) -> Any:
    settings = Settings(Path("/project"), origin="--config", **dict(inline([text])))
    return dict(rule_options(settings, RULES))


def test_options_are_chosen_by_code_or_name() -> None:
    assert chosen("rules.AMP401.multiple = 64") == {("AMP401", "multiple"): 64}
    assert chosen("rules.amp401.names = []") == {("AMP401", "names"): ()}
    assert chosen("rules.misaligned-linear = { multiple = 16, names = ['x'] }") == {
        ("AMP401", "multiple"): 16,
        ("AMP401", "names"): ("x",),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules.AMP401.multipel = 8", "AMP401.multipel`: `AMP401` has no such option; did you mean `multiple`?"),
        ("rules.AMP401.x = 8", "AMP401.x`: `AMP401` has no such option; it has multiple and names"),
        ("rules.AMP101.x = 8", "AMP101.x`: `AMP101` has no such option; it has none"),
        ("rules.AMP4.multiple = 8", "AMP4.multiple`: `AMP4` has no such option; it has none"),
        ("rules.AMP401.multiple = 0", "AMP401.multiple` must be a whole number above 0"),
        ("rules.AMP401.multiple = true", "AMP401.multiple` must be a whole number above 0"),
        ("rules.AMP401.multiple = '8'", "AMP401.multiple` must be a whole number above 0"),
        ("rules.AMP401.names = 'x'", "AMP401.names` must be a list of strings"),
        ("rules.AMP401.names = [1]", "AMP401.names` must be a list of strings"),
    ],
)
def test_what_a_rule_does_not_have(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        chosen(text)
    assert str(error.value) == f"--config: `rules.{message}"


def test_the_rule_asks_what_was_chosen() -> None:
    def found(**settings: Any) -> list[str]:
        report = check_bytes("model.py", MODEL, Settings(Path("/project"), **settings), Path("/project/model.py"))
        return [each.message for each in report.diagnostics if each.code == "AMP401"]

    assert found() == []
    (message,) = found(rules=(("AMP401", (("multiple", 64),)),))
    assert message.startswith("The hidden size 504 is not a multiple of 64")


LOSS = b"""
import torch

def evidence(outputs, target):
    return -(target * torch.log(torch.sigmoid(outputs) + 1e-8)).mean()

class Divergence(torch.nn.Module):
    def forward(self, outputs):
        return torch.exp(outputs).sum()

def step(engine, model: torch.nn.Module, layer: torch.nn.Linear, divergence, images, target):
    divergence = Divergence()
    with torch.autocast("cuda", dtype=torch.float16):
        outputs = torch.nn.functional.linear(images, layer.weight)
        engine.minimise(evidence(outputs, target), divergence(outputs))
"""


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        ((), []),
        (("evidence",), [5]),
        (("divergence",), [9]),
        (("Divergence",), [9]),
        (("minimise",), []),
        (("evi",), []),
    ],
)
def test_losses_of_any_name(names: tuple[str, ...], rows: list[int]) -> None:
    settings = Settings(Path("/project"), rules=(("AMP301", (("losses", names),)),))
    report = check_bytes("model.py", LOSS, settings, Path("/project/model.py"))
    assert [each.range.start.row for each in report.diagnostics if each.code == "AMP301"] == rows


def test_options_are_of_their_rules_and_told_by_the_index() -> None:
    options = {rule.code: rule.options for rule in load_rules()}
    assert {info.code: info.options for info in rule_index()} == options
    for code, each in options.items():
        assert all(option.code == code and option.doc.endswith(".") for option in each)
        assert len({option.name for option in each}) == len(each)


def test_the_page_of_a_rule_tells_its_options() -> None:
    assert options_section(()) == ""
    assert options_section((MULTIPLE, NAMES)) == (
        '\n## Options\n- `multiple` (8): Sizes are to be multiples of it.\n- `names` (["a", "b"]): What is counted in.\n'
    )
