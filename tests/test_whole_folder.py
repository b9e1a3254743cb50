"""All fixtures in one run, which is the first thing that the README has a newcomer do."""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest
from checkout import ROOT
from fixture_harness import dressed, fixtures_of
from program import AMPLINT, environment

from amplint.diagnostics import NOBODY_UNSCALES
from amplint.engine.registry import rule_index
from amplint.testing.fixtures import Fixture, Marked, lint_alone, read_marks

OPTIONS = ("--isolated", "--no-cache", "--quiet", "--exit-zero", "--select", "ALL", "--output-format", "json")
DEFAULT = {rule.code for rule in rule_index() if rule.default}


@cache
def reported(seed: str, *paths: str) -> bytes:
    """What a run with a hash seed reports."""
    environment_ = {**environment(), "PYTHONHASHSEED": seed}
    run = subprocess.run([*AMPLINT, *paths, *OPTIONS], cwd=ROOT, env=environment_, capture_output=True, timeout=600)
    assert (run.returncode, run.stderr) == (0, b"")
    return run.stdout


@pytest.fixture(scope="module")
def findings(pytestconfig: pytest.Config) -> dict[Path, Counter[Marked]]:
    """What is found in the whole folder, by file; `--keep-report` keeps it as it is reported."""
    report = reported("1", "fixtures")
    if kept := pytestconfig.getoption("--keep-report"):
        Path(kept).write_bytes(report)
    found: dict[Path, Counter[Marked]] = defaultdict(Counter)
    for one in json.loads(report):
        fix = one["fix"]["applicability"] if one["fix"] else "none"
        found[ROOT / one["filename"]][Marked(one["location"]["row"], one["code"], fix)] += 1
    return found


def of_default_rules(found: Counter[Marked]) -> Counter[Marked]:
    return Counter({each: n for each, n in found.items() if each.code in DEFAULT})


def test_the_report_does_not_depend_on_the_hash_seed() -> None:
    """Tried on the fixtures that are put into every dress; CI compares runs on all of them under two seeds."""
    some = sorted(str(each.path.relative_to(ROOT)) for rule in rule_index() for each in dressed(rule.code))
    one, other = (reported(seed, *some) for seed in ("1", "2"))
    assert one == other and json.loads(one)


def test_nothing_is_found_in_clean_and_in_fixed_files(findings: dict[Path, Counter[Marked]]) -> None:
    """But for what a fix leaves to its author, which the file says."""
    for fixture in fixtures_of():
        if not fixture.flagged:
            assert not of_default_rules(findings[fixture.path]), fixture
        elif fixture.fixed_path.exists():
            left = read_marks(fixture.fixed_path.read_text(encoding="utf-8")).left
            found = of_default_rules(findings[fixture.fixed_path])
            assert {(each.row, each.code) for each in found} == left, fixture.fixed_path


def test_each_file_says_in_the_run_what_it_says_alone(findings: dict[Path, Counter[Marked]]) -> None:
    for fixture in fixtures_of():
        marks = read_marks(fixture.source.text)
        found = of_default_rules(findings[fixture.path])
        known = Counter({each: n for each, n in found.items() if (each.row, each.code) not in marks.todo_clean})
        expected = of_default_rules(marks.expect)
        assert not known - expected, fixture
        missed = expected - known
        assert not missed or missed <= denied_by_others(fixture), fixture


def denied_by_others(fixture: Fixture) -> Counter[Marked]:
    """What is found in a file alone, but not beside one that may unscale its gradients, as some of the fixtures do."""
    found = lint_alone(fixture.source, fixture.rules).diagnostics
    return Counter(Marked.of(each) for each in found if NOBODY_UNSCALES in each.needs)
