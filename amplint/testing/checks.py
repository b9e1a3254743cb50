"""What a test of a rule pack calls: everything that is claimed of a fixture, and of a rule."""

from __future__ import annotations

from pathlib import Path

from amplint.engine.registry import load_rules
from amplint.rule import Rule
from amplint.testing import claims, dresses, fix_claims, page_claims
from amplint.testing.claims import Claim, hold_claims
from amplint.testing.fixtures import Fixture, fixtures_in, read_marks

CLAIMS: tuple[Claim, ...] = (claims.findings_are_those_marked, claims.a_fixture_is_what_its_name_says)
CLAIMS_ABOUT_FINDINGS: tuple[Claim, ...] = (
    claims.places_lie_inside_the_file,
    claims.wording_is_as_agreed,
    claims.fixes_stay_within_what_their_rule_declares,
    fix_claims.each_fix_alone_compiles_and_keeps_comments,
    fix_claims.safe_fixes_leave_nothing_and_bring_nothing,
    fix_claims.all_fixes_leave_nothing_and_bring_nothing,
    fix_claims.fixes_make_the_fixed_file,
)
CLAIMS_ABOUT_DRESS: tuple[Claim, ...] = (
    dresses.findings_depend_neither_on_depth_nor_on_the_order_of_rules,
    dresses.findings_do_not_depend_on_dress,
    dresses.fixes_do_not_depend_on_dress,
)


def check_fixture(fixture: Fixture, *, dressed: bool = True) -> None:
    """Check all that is claimed of a fixture.

    Args:
        fixture: the fixture.
        dressed: whether it is put into every dress (line ends, tabs, encodings, depth), which takes most of the time.

    Raises:
        AssertionError: some claims do not hold; the message names each, and says what is wrong.
    """
    wanted = [*CLAIMS]
    if fixture.flagged:
        wanted += CLAIMS_ABOUT_FINDINGS
    if dressed:
        wanted += CLAIMS_ABOUT_DRESS
    hold_claims(fixture, wanted)


def check_rule(rule: Rule, folder: Path) -> None:
    """Check what is claimed of a rule: its page, the examples in it, and the best fix, which some fixture must show.

    Args:
        rule: the rule.
        folder: the fixtures of its pack.

    Raises:
        AssertionError: something does not hold.
    """
    page_claims.page_has_its_headings(rule)
    page_claims.example_shows_the_defect_once(rule)
    page_claims.use_instead_is_silent(rule)
    the_declared_fix_is_reached(rule, folder)


def the_declared_fix_is_reached(rule: Rule, folder: Path) -> None:
    """Raise unless some fixture shows the best fix that a rule declares, and none a better one.

    Args:
        rule: the rule.
        folder: the fixtures of its pack.

    Raises:
        AssertionError: no fixture does.
    """
    marks = (mark for fixture in fixtures_in(folder, rule.code) for mark in read_marks(fixture.source.text).expect)
    reached = {mark.applicability for mark in marks if mark.code == rule.code}
    assert reached, f"no fixture shows a finding of {rule.code}"
    best, declared = max(reached, key=claims.TRUST.index), claims.declared_fixes()[rule.code]
    assert best == declared, f"{rule.code} declares `{declared}` fixes, and the best that its fixtures show is `{best}`"


def rules_of(pack: str) -> list[Rule]:
    """The rules of an installed rule pack, in the order of their codes.

    Args:
        pack: the package that the entry point names.

    Raises:
        RegistryError: a pack that is installed cannot be loaded, or two share a code, a name or a prefix.
        LookupError: no rule of such a pack is installed.
    """
    found = [rule for rule in load_rules() if rule.module.rpartition(".")[0] == pack]
    if not found:
        raise LookupError(f"no rules of {pack} are installed: is it named in the entry-point group `amplint.rules`?")
    return found
