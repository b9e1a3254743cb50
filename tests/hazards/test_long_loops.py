"""Long training loops, of the size and with the options of real ones: nothing is said of them, and each defect is found.

The programs in `long_loops` are right as they stand. A defect is one change of their text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from amplint.diagnostics import FileReport
from amplint.engine.checker import withdraw
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.source import Source

FOLDER = Path(__file__).parent / "long_loops"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


@dataclass(frozen=True)
class Defect:
    """A change of a program, the code of what it is, and the start of the line where that is told."""

    program: str
    name: str
    before: str
    after: str
    code: str
    told_at: str

    def __str__(self) -> str:
        return f"{self.program}: {self.name}"


def _without(program: str, name: str, line: str, code: str, told_at: str) -> Defect:
    return Defect(program, name, line, "", code, told_at)


DEFECTS = [
    _without("detector", "no `unscale_`", "scaler.unscale_(optimizer)", "AMP101", "torch.nn.utils.clip_grad_norm_("),
    Defect("detector", "scaler bypassed", "scaler.step(optimizer)", "optimizer.step()", "AMP104", "optimizer.step()"),
    Defect("detector", "plain pass", "scaler.scale(loss).backward()", "loss.backward()", "AMP103", "loss.backward()"),
    Defect(
        "detector",
        "ungated schedule in each iteration",
        "                optimizer.zero_grad()\n                if ema:",
        "                optimizer.zero_grad()\n                scheduler.step()\n                if ema:",
        "AMP107",
        "scheduler.step()",
    ),
    Defect(
        "detector",
        "update for each part",
        "            # Print\n",
        "            scaler.update()\n            # Print\n",
        "AMP108",
        "scaler.update()",
    ),
    _without("detector", "no update", "                scaler.update()\n", "AMP105", "scaler.step(optimizer)"),
    _without(
        "radiance_field", "no `unscale_`", "self.scaler.unscale_(self.optimizer)", "AMP101", "torch.nn.utils.clip_grad"
    ),
    Defect(
        "radiance_field",
        "scaler bypassed",
        "self.scaler.step(self.optimizer)",
        "self.optimizer.step()",
        "AMP104",
        "self.optimizer.step()",
    ),
    _without(
        "radiance_field",
        "ungated schedule in each iteration",
        " and self.scaler.get_scale() >= scale_before",
        "AMP107",
        "self.lr_scheduler.step()",
    ),
    Defect(
        "radiance_field",
        "update for each part",
        "            loss_value = loss.item()\n",
        "            self.scaler.update()\n            loss_value = loss.item()\n",
        "AMP108",
        "self.scaler.update()",
    ),
    Defect(
        "radiance_field",
        "unscaled for each part",
        "            if self.local_step % self.accumulate == 0:\n",
        "            self.scaler.unscale_(self.optimizer)\n            if self.local_step % self.accumulate == 0:\n",
        "AMP111",
        "self.scaler.unscale_(self.optimizer)",
    ),
    _without("matcher", "no `unscale_`", "scaler.unscale_(optimizer)", "AMP101", "torch.nn.utils.clip_grad_norm_("),
    Defect("matcher", "scaler bypassed", "scaler.step(optimizer)", "optimizer.step()", "AMP104", "optimizer.step()"),
    _without(
        "matcher",
        "ungated schedule in each iteration",
        " and scaler.get_scale() >= scale_before",
        "AMP107",
        "lr_scheduler.step()",
    ),
    Defect(
        "matcher",
        "update before the step",
        "                scaler.step(optimizer)\n                scaler.update()\n",
        "                scaler.update()\n                scaler.step(optimizer)\n",
        "AMP105",
        "scaler.step(optimizer)",
    ),
    _without("super_resolution", "no `unscale_`", "scaler.unscale_(optimizer)", "AMP101", "torch.nn.utils.clip_grad"),
    Defect(
        "super_resolution",
        "scaler bypassed",
        "scaler.step(optimizer)",
        "optimizer.step()",
        "AMP104",
        "optimizer.step()",
    ),
    _without(
        "super_resolution",
        "ungated schedule in each iteration",
        "            if scaler.get_scale() >= scale_before:\n    ",
        "AMP107",
        "scheduler_g.step()",
    ),
    Defect(
        "super_resolution",
        "update for each optimizer",
        "        scaler.step(optimizer)\n",
        "        scaler.step(optimizer)\n        scaler.update()\n",
        "AMP108",
        "scaler.update()",
    ),
]


def _text(program: str) -> str:
    return (FOLDER / f"{program}.py").read_text(encoding="utf-8")


@cache
def _report(program: str, text: str) -> FileReport:
    rules = [rule for rule in load_rules() if rule.default]
    report = lint_source(Source(f"{program}.py", text), rules)
    return withdraw(report, report.facts)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_right_program_is_left_alone(program: str) -> None:
    report = _report(program, _text(program))
    assert (report.error, report.partly, report.diagnostics) == ("", (), ())


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_a_defect_is_found(defect: Defect) -> None:
    before = _text(defect.program)
    assert before.count(defect.before) == 1, "the change must be of one place"
    changed = before.replace(defect.before, defect.after or "pass" * (defect.before.strip() == defect.before))
    report = _report(defect.program, changed)
    lines = changed.splitlines()
    told = {(each.code, lines[each.range.start.row - 1].strip()) for each in report.diagnostics}
    assert any(code == defect.code and line.startswith(defect.told_at) for code, line in told), told
    assert report.partly == ()
