"""`pytest --rule AMP404` runs what speaks of one rule, and loads nothing else."""

from __future__ import annotations

import pytest
from checkout import ROOT, run_python
from fixture_harness import fixtures_of

RUN = """
import sys, pytest
code = pytest.main(["-q", "-p", "no:cacheprovider", "--collect-only", "--rule", *sys.argv[1:]])
print(sys.modules.get("torch") is not None)
sys.exit(code)
"""


@pytest.mark.parametrize(("code", "own"), [("AMP404", ""), ("amp401", "tests/rules/test_misaligned_linear.py")])
def test_only_what_speaks_of_the_rule_is_collected(code: str, own: str) -> None:
    run = run_python(ROOT, "-c", RUN, code)
    *tests, torch_is_there = (line for line in run.stdout.splitlines() if "::" in line or line in ("True", "False"))
    assert (run.returncode, run.stderr, torch_is_there) == (0, "", "False")
    names = {test.partition("::")[2] for test in tests}
    assert {f"test_fixture[{fixture}]" for fixture in fixtures_of(code)} <= names
    assert {f"{name}[{code.upper()}]" for name in ("test_use_instead_is_silent", "test_code_and_name")} <= names
    of_other_rules = {name for name in names if "[" in name and code.upper() not in name.upper()}
    assert {test.partition("::")[0] for test in tests if test.partition("::")[2] in of_other_rules} <= {own}
    files = {"tests/test_fixtures.py", "tests/test_meta.py", "tests/test_rule_pages.py"}
    assert {test.partition("::")[0] for test in tests} == files | {own} - {""}


def test_a_rule_that_is_not_there_is_refused_in_one_line() -> None:
    run = run_python(ROOT, "-m", "pytest", "--rule", "AMP999")
    assert (run.returncode, run.stderr) == (4, "ERROR: --rule: no rule has the code AMP999\n\n")
