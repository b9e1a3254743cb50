"""All fixtures in one run, which is the first thing that the README has a newcomer do."""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from subprocess import PIPE

import pytest
from checkout import ROOT
from fixture_harness import fixtures_of
from program import AMPLINT, environment

from amplint.engine.registry import rule_index
from amplint.testing.fixtures import Marked, read_marks

OPTIONS = ("--isolated", "--no-cache", "--quiet", "--exit-zero", "--select", "ALL", "--output-format", "json")
DEFAULT = {rule.code for rule in rule_index() if rule.default}


@pytest.fixture(scope="module")
def reports() -> list[bytes]:
    """What two runs on the whole folder report, with two hash seeds."""
    runs = [
        subprocess.Popen(
            [*AMPLINT, "fixtures", *OPTIONS],
            cwd=ROOT,
            env={**environment(), "PYTHONHASHSEED": seed},
            stdout=PIPE,
            stderr=PIPE,
        )
        for seed in ("1", "2")
    ]
    said = [run.communicate(timeout=600) for run in runs]
    assert [(run.returncode, err) for run, (_, err) in zip(runs, said)] == [(0, b"")] * 2
    return [out for out, _ in said]


@pytest.fixture(scope="module")
def findings(reports: list[bytes]) -> dict[Path, Counter[Marked]]:
    """What is found, by file."""
    found: dict[Path, Counter[Marked]] = defaultdict(Counter)
    for one in json.loads(reports[0]):
        fix = one["fix"]["applicability"] if one["fix"] else "none"
        found[ROOT / one["filename"]][Marked(one["location"]["row"], one["code"], fix)] += 1
    return found


def of_default_rules(found: Counter[Marked]) -> Counter[Marked]:
    return Counter({each: n for each, n in found.items() if each.code in DEFAULT})


def test_the_report_does_not_depend_on_the_hash_seed(reports: list[bytes]) -> None:
    assert reports[0] == reports[1]


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
        known = {each: n for each, n in found.items() if (each.row, each.code) not in marks.todo_clean}
        assert known == of_default_rules(marks.expect), fixture
