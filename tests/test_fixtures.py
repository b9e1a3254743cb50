"""Every fixture says what its rule must find; every rule keeps the same promises on every fixture.

`pytest tests/test_fixtures.py --write-fixed -k amp101` writes what the fixes make of the selected fixtures.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from fixture_harness import (
    ROOT,
    TABS,
    WINDOWS,
    WRAPPED,
    Fixture,
    Variant,
    all_fixtures,
    applicability,
    comments,
    fixable,
    found,
    in_full,
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

FIXTURES = all_fixtures()
FLAGGED = [fixture for fixture in FIXTURES if fixture.flagged]
each = pytest.mark.parametrize("fixture", FIXTURES, ids=str)
each_flagged = pytest.mark.parametrize("fixture", FLAGGED, ids=str)
each_variant = pytest.mark.parametrize("variant", [WINDOWS, TABS], ids=str)


@cache
def fixed(fixture: Fixture) -> FixOutcome:
    """What all fixes make of a fixture, computed once."""
    return fix_source(fixture.source, linter_for(fixture), unsafe=True)


# What is found.


@each
def test_findings_are_those_marked(fixture: Fixture) -> None:
    marks = read_marks(fixture.source.text)
    reported = found(fixture.report)
    rows_and_codes = {(each.row, each.code) for each in reported}
    assert not fixture.report.error
    assert not marks.todo & rows_and_codes, "a known miss is reported now: mark it `expect`"
    assert marks.todo_clean <= rows_and_codes, "a known false alarm is gone: remove the mark"
    for row, code in marks.todo_clean:
        reported = Counter({each: n for each, n in reported.items() if (each.row, each.code) != (row, code)})
    assert sorted(reported.elements()) == sorted(marks.expect.elements())


@each
def test_a_fixture_is_what_its_name_says(fixture: Fixture) -> None:
    marks = read_marks(fixture.source.text)
    codes = {each.code for each in marks.expect} | {code for _, code in marks.todo}
    assert (fixture.code in codes) is fixture.flagged
    assert fixture.flagged or not marks.expect
    compile(fixture.source.text, fixture.path.name, "exec", dont_inherit=True)


def assert_same_findings(fixture: Fixture, variant: Variant, rules: tuple[Rule, ...]) -> None:
    """A variant of a fixture gives the findings of the fixture, in their rows."""
    if not variant.applies(fixture.source.text):
        return  # such a file cannot be dressed so
    report = lint(variant.of(fixture.source), rules)
    moved = Counter({each._replace(row=each.row + variant.rows): n for each, n in found(fixture.report).items()})
    assert not report.error
    assert sorted(found(report).elements()) == sorted(moved.elements())


@each_flagged
@each_variant
def test_findings_do_not_depend_on_dress(fixture: Fixture, variant: Variant) -> None:
    assert_same_findings(fixture, variant, fixture.rules)


@each
def test_findings_depend_neither_on_depth_nor_on_the_order_of_rules(fixture: Fixture) -> None:
    assert_same_findings(fixture, WRAPPED, fixture.rules[::-1])


def test_findings_do_not_depend_on_the_hash_seed() -> None:
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    elsewhere = subprocess.run(
        [sys.executable, "-W", "error", "tests/support/fixture_harness.py"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        cwd=ROOT,
        check=True,
    ).stdout
    assert elsewhere == "".join(map(in_full, FIXTURES))


# How it is said.


@each_flagged
def test_places_lie_inside_the_file(fixture: Fixture) -> None:
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


@each_flagged
def test_wording(fixture: Fixture) -> None:
    for diagnostic in fixture.report.diagnostics:
        message = diagnostic.message
        assert message[0] == "`" or message[0].isupper(), f"{message!r} must start upper-case, or with code"
        assert message[-1] not in ".!?" and "\n" not in message, f"{message!r} must be one line without a final period"
        assert message.count("`") % 2 == 0, f"{message!r} must close its backticks"
        assert len(_CODE.sub("code", message).split()) <= 14, f"{message!r} is longer than 14 words"
        note = diagnostic.note
        assert note == note.strip() and "\n" not in note
        assert note.endswith(".") or ". " not in note, f"{note!r} ends in a period, or is one fragment"
        for related in diagnostic.related:
            assert related.message and related.message[-1] != ".", f"{related.message!r} must have no final period"
        if diagnostic.fix:
            title = diagnostic.fix.title
            assert re.match(r"[A-Z][a-z]+(?<!ing)(?<!ed)(?<![^s]s) ", title), f"{title!r} must start with an imperative"
            assert title[-1] not in ".!?" and "\n" not in title, f"{title!r} must be one line without a final period"


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.code)
def test_declared_fix_is_met_and_never_exceeded(rule: Rule) -> None:
    order = ["none", "display", "unsafe", "safe"]
    seen = {
        applicability(diagnostic)
        for fixture in FIXTURES
        for diagnostic in fixture.report.diagnostics
        if diagnostic.code == rule.code
    }
    assert seen, f"no fixture shows a finding of {rule.code}"
    assert max(seen, key=order.index) == (rule.fix.value if rule.fix else "none")


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


@each_flagged
def test_each_fix_alone_compiles_and_keeps_comments(fixture: Fixture) -> None:
    for diagnostic in fixture.report.diagnostics:
        if diagnostic.fix:
            text, used = apply(fixture.source, [diagnostic])
            assert used
            compile(text, fixture.path.name, "exec", dont_inherit=True)
            assert not lost_comments(fixture.source.text, text)


@each_flagged
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe fixes", "all fixes"])
def test_fixes_leave_nothing_and_bring_nothing(fixture: Fixture, unsafe: bool) -> None:
    trusted = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}

    def repaired(diagnostic: Diagnostic) -> bool:
        return diagnostic.fix is not None and diagnostic.fix.applicability in trusted

    if not any(map(repaired, fixture.report.diagnostics)):
        return
    outcome = fixed(fixture) if unsafe else fix_source(fixture.source, linter_for(fixture), unsafe=False)
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


@each_flagged
def test_fixes_make_the_fixed_file(fixture: Fixture, write_fixed: bool) -> None:
    path = fixture.fixed_path
    if not any(map(fixable, fixture.report.diagnostics)):
        if write_fixed:
            path.unlink(missing_ok=True)
        assert not path.exists(), "nothing can be fixed here: --write-fixed removes the file"
        return
    data = fixture.source.encode(fixed(fixture).text)
    if write_fixed:
        path.write_bytes(data)
    assert path.exists(), "--write-fixed writes it; then review it"
    assert path.read_bytes().decode(fixture.source.encoding) == data.decode(fixture.source.encoding)


@each_flagged
@each_variant
def test_fixes_do_not_depend_on_dress(fixture: Fixture, variant: Variant) -> None:
    plain = fixture.source.text
    if not any(map(fixable, fixture.report.diagnostics)) or not variant.applies(plain):
        return
    dressed = variant.of(fixture.source)
    outcome = fix_source(dressed, linter_for(fixture), unsafe=True)
    wanted = variant.of(replace(fixture.source, text=fixed(fixture).text))
    assert not outcome.error
    assert outcome.text.rstrip("\r\n") == wanted.text.rstrip("\r\n")
    assert dressed.encode(outcome.text).startswith(variant.change("")[:3])
