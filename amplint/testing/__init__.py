"""Tests for rule packs: the harness that amplint's own rules pass (`pip install 'amplint[testing]'`).

A fixture is an ordinary Python file, `flagged_<shape>.py` or `clean_<shape>.py`, in a folder named as the module of its rule.
A comment on the row where a finding starts says what must be found there: `# expect: TEAM101 safe`. The word after the code
is the applicability of the fix: `safe`, `unsafe`, `display`, or `none`. `# todo: TEAM101` marks a known miss,
`# todo-clean: TEAM101` a known false alarm, `# left: TEAM101` what a fix leaves to its author. A row without a mark must be
silent under all default rules. `flagged_<shape>.fixed.py` is what all fixes make of the file;
`python -m amplint.testing FOLDER` writes it.
"""

import pytest

pytest.register_assert_rewrite(
    "amplint.testing.claims", "amplint.testing.fix_claims", "amplint.testing.dresses", "amplint.testing.page_claims"
)

from amplint.testing.checks import check_fixture, check_rule, rules_of  # noqa: E402
from amplint.testing.fixtures import Fixture, fixtures_in  # noqa: E402

__all__ = ["Fixture", "check_fixture", "check_rule", "fixtures_in", "rules_of"]
