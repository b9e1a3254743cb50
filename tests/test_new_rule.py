"""The scaffold makes a rule that everything but its first fixture is content with."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import copy_checkout, run_python


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which AMP999 has been made."""
    made = copy_checkout(tmp_path_factory.mktemp("checkout"))
    run = run_python(made, "scripts/new_rule.py", "AMP999", "some-bad-pattern")
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [
        "rules/amp999_some_bad_pattern.py",
        "fixtures/amp999_some_bad_pattern/flagged_textbook.py",
    ]
    return made


def test_its_first_fixture_fails_and_nothing_else_does(checkout: Path) -> None:
    run = run_python(checkout, "-m", "pytest", "-q", "-k", "amp999", "-p", "no:cacheprovider", "tests/test_fixtures.py")
    failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 2, run.stdout
    assert "test_findings_are_those_marked[amp999_some_bad_pattern/flagged_textbook]" in failed[0]
    assert "test_declared_fix_is_met_and_never_exceeded[AMP999]" in failed[1]


def test_its_module_and_page_pass(checkout: Path) -> None:
    tests = ("tests/test_meta.py", "tests/test_rule_pages.py")
    run = run_python(checkout, "-m", "pytest", "-q", "-k", "amp999 and not enough", "-p", "no:cacheprovider", *tests)
    assert run.returncode == 0, run.stdout
    assert "8 passed" in run.stdout


def test_a_taken_code_is_refused(checkout: Path) -> None:
    run = run_python(checkout, "scripts/new_rule.py", "AMP999", "another-pattern")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "new_rule: AMP999 another-pattern is taken by rules/amp999_some_bad_pattern.py\n"


@pytest.mark.parametrize(("code", "name"), [("AMP01", "some-pattern"), ("AMP998", "Pattern"), ("X", "y")])
def test_malformed_names_are_refused(checkout: Path, code: str, name: str) -> None:
    run = run_python(checkout, "scripts/new_rule.py", code, name)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
