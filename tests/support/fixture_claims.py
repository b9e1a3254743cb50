"""What holds for every fixture, whichever rule it belongs to: each claim is a function that raises what is wrong.

`hold` checks several and names those that do not hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from fixture_harness import (
    DRESSES,
    WRAPPED,
    Fixture,
    Variant,
    applicability,
    comments,
    fixable,
    found,
    lint,
    linter_for,
    read_marks,
)
from pyflakes import checker, messages

from amplint.diagnostics import Applicability, Diagnostic
from amplint.engine.fixer import FixOutcome, apply, fix_source
from amplint.engine.registry import load_rules
from amplint.python_ast.gate import parse
from amplint.rule import Rule
from amplint.source import Source

Claim = Callable[[Fixture], None]

TRUST = ("none", "display", "unsafe", "safe")
"""How far a fix may be trusted, the least first."""

WORDS_AT_MOST = 14
"""The length of a message; what stands in backticks counts as one word."""


def hold(fixture: Fixture, claims: Iterable[Claim]) -> None:
    """Check claims about a fixture.

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
def fixed(fixture: Fixture, unsafe: bool = True) -> FixOutcome:
    """What all fixes, or the safe ones, make of a fixture."""
    return fix_source(fixture.source, linter_for(fixture), unsafe=unsafe)


@cache
def declared() -> dict[str, str]:
    """The best applicability that each rule promises, by code."""
    return {rule.code: rule.fix.value if rule.fix else "none" for rule in load_rules()}


# What is found.


def findings_are_those_marked(fixture: Fixture) -> None:
    marks = read_marks(fixture.source.text)
    reported = found(fixture.report)
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


# How it is said.


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
        if diagnostic.fix:
            title = diagnostic.fix.title
            assert re.match(r"[A-Z][a-z]+(?<!ing)(?<!ed)(?<![^s]s) ", title), f"{title!r} must start with an imperative"
            assert title[-1] not in ".!?" and "\n" not in title, f"{title!r} must be one line without a final period"


def fixes_stay_within_what_their_rule_declares(fixture: Fixture) -> None:
    for diagnostic in fixture.report.diagnostics:
        best = declared()[diagnostic.code]
        assert TRUST.index(applicability(diagnostic)) <= TRUST.index(best), f"{diagnostic.code} declares {best}"


# What the fixes make of it.


def lost_comments(before: str, after: str) -> list[str]:
    """The comments that a fix has swallowed."""
    kept = Counter(comment for _, comment in comments(after))
    return list((Counter(comment for _, comment in comments(before)) - kept).elements())


def complaints(source: Source, text: str) -> Counter[tuple[str, ...]]:
    """What pyflakes says about the names of a file: unbound, imported in vain, redefined."""
    kinds = (messages.UndefinedName, messages.UndefinedLocal, messages.UnusedImport, messages.RedefinedWhileUnused)
    said = checker.Checker(parse(text), source.path).messages
    return Counter((type(each).__name__, str(each.message_args[0])) for each in said if isinstance(each, kinds))


def each_fix_alone_compiles_and_keeps_comments(fixture: Fixture) -> None:
    for diagnostic in fixture.report.diagnostics:
        if diagnostic.fix:
            text, used = apply(fixture.source, [diagnostic])
            assert used
            compile(text, fixture.path.name, "exec", dont_inherit=True)
            assert not lost_comments(fixture.source.text, text)


def safe_fixes_leave_nothing_and_bring_nothing(fixture: Fixture) -> None:
    _leave_nothing_and_bring_nothing(fixture, unsafe=False)


def all_fixes_leave_nothing_and_bring_nothing(fixture: Fixture) -> None:
    _leave_nothing_and_bring_nothing(fixture, unsafe=True)


def _leave_nothing_and_bring_nothing(fixture: Fixture, unsafe: bool) -> None:
    trusted = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}

    def repaired(diagnostic: Diagnostic) -> bool:
        return diagnostic.fix is not None and diagnostic.fix.applicability in trusted

    if not any(map(repaired, fixture.report.diagnostics)):
        return
    outcome = fixed(fixture, unsafe)
    assert not outcome.error
    assert sum(outcome.applied.values()) >= 1
    compile(outcome.text, fixture.path.name, "exec", dont_inherit=True)
    after = lint(replace(fixture.source, text=outcome.text), fixture.rules).diagnostics
    before = Counter(diagnostic.code for diagnostic in fixture.report.diagnostics if not repaired(diagnostic))
    left = read_marks(outcome.text).left
    assert left <= {(each.range.start.row, each.code) for each in after}, "the rest of the work is not said"
    before += Counter(code for _, code in left)
    assert not [each for each in after if repaired(each)], "what can be fixed is not fixed"
    assert Counter(each.code for each in after) <= before, "a fix brings a finding that was not there"
    assert not lost_comments(fixture.source.text, outcome.text)
    assert not complaints(fixture.source, outcome.text) - complaints(fixture.source, fixture.source.text)
    if fixture.source.text.endswith("\n"):
        assert outcome.text.endswith("\n")
    again = fix_source(replace(fixture.source, text=outcome.text), linter_for(fixture), unsafe=unsafe)
    assert again.text == outcome.text and not again.applied, "a second run changes the file again"


def can_be_fixed(fixture: Fixture) -> bool:
    """Whether `--fix --unsafe-fixes` changes it."""
    return any(map(fixable, fixture.report.diagnostics))


def write_fixed_file(fixture: Fixture) -> None:
    """Write what the fixes make of it, or remove what they made of it once."""
    if can_be_fixed(fixture):
        fixture.fixed_path.write_bytes(fixture.source.encode(fixed(fixture).text))
    else:
        fixture.fixed_path.unlink(missing_ok=True)


def fixes_make_the_fixed_file(fixture: Fixture) -> None:
    path = fixture.fixed_path
    if not can_be_fixed(fixture):
        assert not path.exists(), "nothing can be fixed here: --write-fixed removes the file"
        return
    assert path.exists(), "--write-fixed writes it; then review it"
    data = fixture.source.encode(fixed(fixture).text)
    assert path.read_bytes().decode(fixture.source.encoding) == data.decode(fixture.source.encoding)


# What it looks like does not matter.


def assert_same_findings(fixture: Fixture, variant: Variant, rules: tuple[Rule, ...]) -> None:
    """A variant of a fixture gives the findings of the fixture, in their rows."""
    report = lint(variant.of(fixture.source), rules)
    moved = Counter({each._replace(row=each.row + variant.rows): n for each, n in found(fixture.report).items()})
    assert not report.error
    assert sorted(found(report).elements()) == sorted(moved.elements()), variant


def findings_depend_neither_on_depth_nor_on_the_order_of_rules(fixture: Fixture) -> None:
    if WRAPPED.applies(fixture.source.text):
        assert_same_findings(fixture, WRAPPED, fixture.rules[::-1])


def findings_do_not_depend_on_dress(fixture: Fixture) -> None:
    for variant in worn_by(fixture):
        assert_same_findings(fixture, variant, fixture.rules)


def fixes_do_not_depend_on_dress(fixture: Fixture) -> None:
    for variant in worn_by(fixture) if can_be_fixed(fixture) else ():
        outcome = fix_source(variant.of(fixture.source), linter_for(fixture), unsafe=True)
        wanted = variant.of(replace(fixture.source, text=fixed(fixture).text))
        assert not outcome.error
        assert outcome.text.rstrip("\r\n") == wanted.text.rstrip("\r\n"), variant
        assert variant.of(fixture.source).encode(outcome.text).startswith(variant.change("")[:3]), variant


def worn_by(fixture: Fixture) -> list[Variant]:
    """The dresses in which a fixture with findings can be put."""
    return [variant for variant in DRESSES if fixture.flagged and variant.applies(fixture.source.text)]


CLAIMS: tuple[Claim, ...] = (findings_are_those_marked, a_fixture_is_what_its_name_says)
CLAIMS_ABOUT_FINDINGS: tuple[Claim, ...] = (
    places_lie_inside_the_file,
    wording_is_as_agreed,
    fixes_stay_within_what_their_rule_declares,
    each_fix_alone_compiles_and_keeps_comments,
    safe_fixes_leave_nothing_and_bring_nothing,
    all_fixes_leave_nothing_and_bring_nothing,
    fixes_make_the_fixed_file,
)
CLAIMS_ABOUT_DRESS: tuple[Claim, ...] = (
    findings_depend_neither_on_depth_nor_on_the_order_of_rules,
    findings_do_not_depend_on_dress,
    fixes_do_not_depend_on_dress,
)
