"""What is claimed of every fixture, whichever rule it belongs to: what is found, and how it is said.

Each claim is a function that raises what is wrong. `hold_claims` checks several and names those that do not hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

from amplint.engine.registry import load_rules
from amplint.testing.fixtures import Fixture, findings_as_marks, read_marks, trust_in_fix

Claim = Callable[[Fixture], None]

TRUST = ("none", "display", "unsafe", "safe")
"""How far a fix may be trusted, the least first."""

WORDS_AT_MOST = 14
"""The length of a message; what stands in backticks counts as one word."""


def hold_claims(fixture: Fixture, claims: Iterable[Claim]) -> None:
    """Check claims about a fixture.

    Args:
        fixture: the fixture.
        claims: what is claimed of it.

    Raises:
        AssertionError: some do not hold; the message names each, and says what is wrong.
    """
    broken = [(claim.__name__, error) for claim in claims if (error := _violation(fixture, claim))]
    if broken:
        raise AssertionError("\n".join(f"{name}: {error}" for name, error in broken)) from broken[0][1]


def _violation(fixture: Fixture, claim: Claim) -> Exception | None:
    try:
        claim(fixture)
    except Exception as error:
        return error
    return None


@cache
def declared_fixes() -> dict[str, str]:
    """The best applicability that each rule promises, by code."""
    return {rule.code: rule.fix.value if rule.fix else "none" for rule in load_rules()}


def findings_are_those_marked(fixture: Fixture) -> None:
    marks = read_marks(fixture.source.text)
    reported = findings_as_marks(fixture.report)
    rows_and_codes = {(each.row, each.code) for each in reported}
    assert not fixture.report.error
    assert not marks.todo & rows_and_codes, "a known miss is reported now: mark it `expect`"
    assert marks.todo_clean <= rows_and_codes, "a known false alarm is gone: remove the mark"
    for row, code in marks.todo_clean:
        reported = Counter({each: n for each, n in reported.items() if (each.row, each.code) != (row, code)})
    assert sorted(reported.elements()) == sorted(marks.expect.elements())


def a_fixture_is_what_its_name_says(fixture: Fixture) -> None:
    marks = read_marks(fixture.source.text)
    codes = {each.code for each in marks.expect} | {code for _, code in marks.todo}
    assert (fixture.code in codes) is fixture.flagged
    assert fixture.flagged or not marks.expect
    compile(fixture.source.text, fixture.path.name, "exec", dont_inherit=True)


def places_lie_inside_the_file(fixture: Fixture) -> None:
    source = fixture.source
    for diagnostic in fixture.report.diagnostics:
        assert diagnostic.path == source.path
        for where in (diagnostic.range, *(related.range for related in diagnostic.related if not related.path)):
            assert 0 <= where.start.offset <= where.end.offset <= len(source.text)
            assert where == source.range(where.start.offset, where.end.offset)
        if diagnostic.fix:
            edits = diagnostic.fix.edits
            assert edits
            assert all(0 <= edit.start <= edit.end <= len(source.text) for edit in edits)
            assert all(before.end <= after.start for before, after in zip(edits, edits[1:])), "edits overlap"
            assert all(source.text[edit.start : edit.end] != edit.replacement for edit in edits), (
                "an edit changes nothing"
            )


_CODE = re.compile(r"`[^`]+`")
_NOUNLESS = re.compile(
    r"^(?:it|they|this|these) (?:is|are|was|were|happens?)\b|\ba part of it\b|\b(?:by|to) (?:it|them)\b"
)
"""A pronoun in a text that nothing goes before."""


def wording_is_as_agreed(fixture: Fixture) -> None:
    for diagnostic in fixture.report.diagnostics:
        message = diagnostic.message
        assert message[0] == "`" or message[0].isupper(), f"{message!r} must start upper-case, or with code"
        assert message[-1] not in ".!?" and "\n" not in message, f"{message!r} must be one line without a final period"
        assert message.count("`") % 2 == 0, f"{message!r} must close its backticks"
        assert len(_CODE.sub("code", message).split()) <= WORDS_AT_MOST, f"{message!r} is too long"
        note = diagnostic.note
        assert note == note.strip() and "\n" not in note
        reason = diagnostic.no_fix
        assert bool(reason) is not bool(diagnostic.fix), f"{message!r} has a fix, or says why there is none"
        assert not reason or reason[0] == "`" or reason.split()[0] == "AMP" or reason[0].islower()
        assert reason[-1:] not in (".", " ") and "\n" not in reason and reason.count("`") % 2 == 0
        assert note.endswith(".") or ". " not in note, f"{note!r} ends in a period, or is one fragment"
        for related in diagnostic.related:
            assert related.message and related.message[-1] != ".", f"{related.message!r} must have no final period"
        for text in (reason, *(related.message for related in diagnostic.related)):
            assert not _NOUNLESS.search(text), f"{text!r} must say what `it` is"
        if diagnostic.fix:
            title = diagnostic.fix.title
            assert re.match(r"[A-Z][a-z]+(?<!ing)(?<!ed)(?<![^s]s) ", title), f"{title!r} must start with an imperative"
            assert title[-1] not in ".!?" and "\n" not in title, f"{title!r} must be one line without a final period"


def fixes_stay_within_what_their_rule_declares(fixture: Fixture) -> None:
    for diagnostic in fixture.report.diagnostics:
        best = declared_fixes()[diagnostic.code]
        assert TRUST.index(trust_in_fix(diagnostic)) <= TRUST.index(best), f"{diagnostic.code} declares {best}"
