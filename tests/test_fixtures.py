"""Every fixture says what its rule must find; every rule keeps the same promises on every fixture.

A fixture is one test, which checks all claims about it (`amplint.testing`) and names those that do not hold.
`pytest --rule AMP101` checks the fixtures of one rule; with `--write-fixed` it writes what the fixes make of them.
"""

from __future__ import annotations

from fixture_harness import FIXTURES, dressed

from amplint.rule import Rule
from amplint.testing import Fixture, check_fixture
from amplint.testing.checks import the_declared_fix_is_reached
from amplint.testing.fix_claims import write_fixed_file


def test_fixture(fixture: Fixture, all_dresses: bool, write_fixed: bool) -> None:
    if write_fixed:
        write_fixed_file(fixture)
    check_fixture(fixture, dressed=all_dresses or fixture in dressed(fixture.code))


def test_the_declared_fix_is_reached(rule: Rule) -> None:
    the_declared_fix_is_reached(rule, FIXTURES)
