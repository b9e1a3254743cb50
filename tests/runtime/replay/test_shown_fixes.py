"""Fixes that are shown and never applied are replayed like all others: each holds, and one that does nothing does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checkout import ROOT

from amplint.diagnostics import Applicability, Diagnostic, Edit, Fix
from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import never_applied
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.verdict import CONFIRMED, Outcome
from amplint.source import Source

torch = pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.replay.finding_replay import replay  # noqa: E402

ALSO = {"AMP106", "AMP212"}
"""Rules that show a fix where they have none that may be applied."""
RULES = {rule.code: rule for rule in load_rules() if rule.fix is Applicability.DISPLAY or rule.code in ALSO}
SHOWN = [
    pytest.param(code, path, id=f"{code}-{path.stem}")
    for code in sorted(RULES)
    for path in sorted((ROOT / "fixtures").glob(f"{code.lower()}_*/flagged_*.py"))
]


def findings(source: Source, code: str) -> list[Diagnostic]:
    """The findings of a rule that show a fix."""
    return never_applied(check_source(source, Settings(ROOT, select=(code,)), ROOT / source.path))


def outcome(source: Source, diagnostic: Diagnostic) -> Outcome:
    fixed, _ = apply(source, [diagnostic])
    rule = RULES[diagnostic.code]
    return replay(source, replace(source, text=fixed), diagnostic, rule, EMULATED, 0)


def test_every_rule_that_shows_a_fix_says_how_its_defect_shows() -> None:
    assert RULES and all(rule.observable is not None for rule in RULES.values())


@pytest.mark.parametrize(("code", "path"), SHOWN)
def test_what_is_shown_holds(code: str, path: Path) -> None:
    source = Source(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    proved = [outcome(source, each) for each in findings(source, code)]
    assert [each.verdict for each in proved] == [CONFIRMED] * len(proved), proved


@pytest.mark.parametrize("code", sorted(RULES))
def test_what_leaves_the_defect_is_not_confirmed(code: str) -> None:
    paths = sorted((ROOT / "fixtures").glob(f"{code.lower()}_*/flagged_*.py"))
    sources = (Source(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in paths)
    source, [diagnostic, *_] = next((each, found) for each in sources if (found := findings(each, code)))
    idle = Fix("Add a comment", (Edit(0, 0, "# \n"),), Applicability.DISPLAY)
    assert outcome(source, replace(diagnostic, fix=idle)).verdict != CONFIRMED
