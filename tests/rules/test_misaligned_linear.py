"""AMP401 judges models in files that never mention AMP, without every file of models being parsed."""

from __future__ import annotations

import pytest

from amplint.diagnostics import ALONE
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.python_ast import gate
from amplint.python_ast.slicing import relevant_rows
from amplint.rule import MIXED_PRECISION
from amplint.source import Source

RULES = tuple(rule for rule in load_rules() if rule.code == "AMP401")
TRIGGERS = RULES[0].triggers

MODEL = """\
from torch import nn

def unrelated(x):
    return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 500)
        self.fc2 = nn.Linear(500, 10)
"""


def test_a_file_of_models_depends_on_the_run() -> None:
    (finding,) = lint_source(Source("model.py", MODEL), RULES).diagnostics
    assert finding.needs == {MIXED_PRECISION}
    assert lint_source(Source("model.py", MODEL), RULES).facts == frozenset()
    assert finding.range.start.row == 9
    assert [related.range.start.row for related in finding.related] == [10]


@pytest.mark.parametrize(
    "own",
    [
        "loss.backward()\n",
        "if __name__ == '__main__':\n    options = ArgumentParser().parse_args()\n",
        "options = parser.parse_args()\n",
        "options, rest = ArgumentParser().parse_known_args()\n",
    ],
)
def test_a_program_without_mixed_precision_is_alone(own: str) -> None:
    assert lint_source(Source("main.py", MODEL + own), RULES).facts == {ALONE}
    assert lint_source(Source("main.py", f"{MODEL}{own}autocast()\n"), RULES).facts == frozenset()


def test_a_function_that_reads_options_is_no_program() -> None:
    text = f"{MODEL}\ndef options(parser=None):\n    return parser.parse_args()\n"
    assert lint_source(Source("model.py", text), RULES).facts == frozenset()


def test_only_what_spells_out_a_size_is_parsed() -> None:
    assert relevant_rows(Source("model.py", MODEL), gate.parse(MODEL), TRIGGERS) == [1, 6, 7, 8, 9, 10]
    assert relevant_rows(Source("model.py", MODEL), gate.parse(MODEL)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nn.Linear(784, 500)", True),
        ("nn.Linear(dim, 500)", True),
        ("nn.Linear(\n    in_features=dim,\n    out_features=500,\n)", True),
        ("Linear(dim, HIDDEN)", True),
        ("nn.Linear(config.hidden_size, config.hidden_size)", False),
        ("nn.Linear(dim, 4 * dim)", False),
        ("LoRALinear(784, 500)", False),
        ("nn.Conv2d(3, 100, 3)", False),
    ],
)
def test_trigger(text: str, expected: bool) -> None:
    assert gate.is_triggered(text.encode(), TRIGGERS) is expected
