"""Every fixture says what its rule must find; every rule keeps the same promises on every fixture.

A fixture is one test, which checks all claims about it (`support/fixture_claims.py`) and names those that do not hold.
`pytest --rule AMP101` checks the fixtures of one rule; with `--write-fixed` it writes what the fixes make of them.
"""

from __future__ import annotations

from fixture_claims import CLAIMS, CLAIMS_ABOUT_DRESS, CLAIMS_ABOUT_FINDINGS, TRUST, declared, hold, write_fixed_file
from fixture_harness import Fixture, dressed, fixtures_of, read_marks

from amplint.rule import Rule


def test_fixture(fixture: Fixture, all_dresses: bool, write_fixed: bool) -> None:
    if write_fixed:
        write_fixed_file(fixture)
    claims = [*CLAIMS]
    if fixture.flagged:
        claims += CLAIMS_ABOUT_FINDINGS
    if all_dresses or fixture in dressed(fixture.code):
        claims += CLAIMS_ABOUT_DRESS
    hold(fixture, claims)


def test_the_declared_fix_is_reached(rule: Rule) -> None:
    marks = (mark for fixture in fixtures_of(rule.code) for mark in read_marks(fixture.source.text).expect)
    reached = {mark.applicability for mark in marks if mark.code == rule.code}
    assert reached, f"no fixture shows a finding of {rule.code}"
    assert max(reached, key=TRUST.index) == declared()[rule.code]
