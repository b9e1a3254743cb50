"""What amplint claims of its own rules holds for these."""

from pathlib import Path

import pytest

from amplint.testing import check_fixture, check_rule, fixtures_in, rules_of

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("fixture", fixtures_in(FIXTURES), ids=str)
def test_fixture(fixture):
    check_fixture(fixture)


@pytest.mark.parametrize("rule", rules_of("team_amp_rules"), ids=lambda rule: rule.code)
def test_rule(rule):
    check_rule(rule, FIXTURES)
