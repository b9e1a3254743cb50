"""The house keeps its order: one rule per module, one folder of fixtures per rule, one stem everywhere."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from checkout import ROOT
from fixture_harness import FIXTURES, fixture_files
from packaging.version import Version

from amplint import __version__
from amplint.diagnostics import CATEGORIES
from amplint.engine.registry import load_rules
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import Confidence, Rule, Severity

FIXTURES_AT_LEAST = {"flagged": 8, "clean": 8}
LINES_AT_MOST = 50
"""The length of a fixture; what its fixes make of it may be longer."""

_ADVICE = re.compile(
    r"^(use|prefer|avoid|ensure|require|check|should|must|do-not|dont|no|always|never)-|(?<!-without)-(rule|check|lint)$"
)
"""Names that tell what to do, where a name must say what is wrong: it stands after "ignore"."""


def stem(rule: Rule) -> str:
    """What the module, and the folder of fixtures, of a rule is called."""
    return f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


def test_one_rule_per_module(rule: Rule) -> None:
    members = vars(import_module(f"amplint_rules.{stem(rule)}")).values()
    assert [member for member in members if isinstance(member, Rule)] == [rule]


def test_every_module_is_a_rule() -> None:
    modules = sorted(path.stem for path in (ROOT / "rules").glob("[!_]*.py"))
    assert sorted(stem(rule) for rule in load_rules()) == modules


def test_code_and_name(rule: Rule) -> None:
    assert re.fullmatch(r"AMP[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", rule.name)
    assert not _ADVICE.search(rule.name), f"{rule.name!r} must name the bad pattern"


def test_a_rule_says_what_it_is(rule: Rule) -> None:
    assert rule.category in CATEGORIES.values(), "its hundred stands for no category"
    assert isinstance(rule.severity, Severity) and isinstance(rule.confidence, Confidence)
    assert __version__ == "0+unknown" or Version(rule.since) <= Version(Version(__version__).base_version)
    assert not (rule.default and rule.confidence is Confidence.LOW), "a guess is for those who ask for it"


def test_a_rule_yields_to_another_one_that_there_is(rule: Rule) -> None:
    others = {each.code for each in load_rules()} - {rule.code}
    assert not rule.yields_to or rule.yields_to in others


def test_each_kind_of_hazard_is_told_by_a_rule_of_its_name() -> None:
    assert {kind.value for kind in HazardKind} <= {rule.name for rule in load_rules()}


def test_rules_ask_hazards_and_facts_and_reach_into_no_graph() -> None:
    for module in sorted((ROOT / "rules").rglob("*.py")):
        text = module.read_text("utf-8")
        code = text.rpartition('"""')[2] if module.stem.startswith("amp") else text
        reached = re.findall(r"\.program\b|\.places\b|\.root\b|\.entry\.function", code)
        named = [kind.value for kind in HazardKind if f'"{kind.value}"' in code]
        assert (reached, named) == ([], []), module.stem


@pytest.mark.parametrize("kind", FIXTURES_AT_LEAST)
def test_enough_fixtures(rule: Rule, kind: str) -> None:
    files = [path for path in fixture_files(rule.code) if path.name.startswith(f"{kind}_")]
    least = FIXTURES_AT_LEAST[kind] if rule.default else 1
    assert len(files) >= least


def test_fixtures_are_short(rule: Rule) -> None:
    for path in fixture_files(rule.code):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_AT_MOST, path


def test_every_fixture_belongs_to_a_rule() -> None:
    rules = {stem(rule) for rule in load_rules()}
    for path in FIXTURES.rglob("*.py"):
        assert path.parent.parent == FIXTURES and path.parent.name in rules, path


def test_names_of_fixtures(rule: Rule) -> None:
    for path in (FIXTURES / stem(rule)).glob("*.py"):
        assert re.fullmatch(r"(flagged|clean)_[a-z0-9_]+\.py|flagged_[a-z0-9_]+\.fixed\.py", path.name), path
        if path.name.endswith(".fixed.py"):
            assert path.with_name(path.name.replace(".fixed.py", ".py")).exists(), f"{path}: its original is gone"


def test_rules_say_whether_callers_make_a_difference(rule: Rule) -> None:
    """What asks the dtype flow, or for devices that others make, is asked again where other files enter a file."""
    asking = {"Dtypes", "device_elsewhere"} & set(vars(import_module(f"amplint_rules.{stem(rule)}")))
    assert (rule.entered is not None) == bool(asking)
