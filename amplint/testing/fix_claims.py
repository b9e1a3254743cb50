"""What is claimed of the fixes of every fixture: they compile, keep comments and names, and leave nothing behind."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

from pyflakes import checker, messages

from amplint.diagnostics import Diagnostic
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import FixOutcome, fix_source
from amplint.python_ast.gate import parse
from amplint.source import Source
from amplint.testing.fixtures import Fixture, comment_tokens, is_fixable, lint_alone, linter_for, read_marks


@cache
def repaired_text(fixture: Fixture, unsafe: bool = True) -> FixOutcome:
    """What fixes make of a fixture.

    Args:
        fixture: the fixture.
        unsafe: whether unsafe fixes are applied, too.
    """
    return fix_source(fixture.source, linter_for(fixture), unsafe=unsafe)


def lost_comments(before: str, after: str) -> list[str]:
    """The comments that a fix has swallowed.

    Args:
        before: the text of a file.
        after: its text after the fix.
    """
    kept = Counter(comment for _, comment in comment_tokens(after))
    return list((Counter(comment for _, comment in comment_tokens(before)) - kept).elements())


@cache
def complaints(source: Source, text: str) -> Counter[tuple[str, ...]]:
    """What pyflakes says about the names of a file: unbound, imported in vain, redefined.

    Args:
        source: the file, for its path.
        text: what its text has become.
    """
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
    def repaired(diagnostic: Diagnostic) -> bool:
        return diagnostic.fix is not None and diagnostic.fix.is_applied(unsafe)

    if not any(map(repaired, fixture.report.diagnostics)):
        return
    outcome = repaired_text(fixture, unsafe)
    assert not outcome.error
    assert sum(outcome.applied.values()) >= 1
    compile(outcome.text, fixture.path.name, "exec", dont_inherit=True)
    after = lint_alone(replace(fixture.source, text=outcome.text), fixture.rules).diagnostics
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
    return any(map(is_fixable, fixture.report.diagnostics))


def write_fixed_file(fixture: Fixture) -> None:
    """Write what the fixes make of it, or remove what they made of it once."""
    if can_be_fixed(fixture):
        fixture.fixed_path.write_bytes(fixture.source.encode(repaired_text(fixture).text))
    else:
        fixture.fixed_path.unlink(missing_ok=True)


def fixes_make_the_fixed_file(fixture: Fixture) -> None:
    path = fixture.fixed_path
    if not can_be_fixed(fixture):
        assert not path.exists(), "nothing can be fixed here: --write-fixed removes the file"
        return
    assert path.exists(), "--write-fixed writes it; then review it"
    data = fixture.source.encode(repaired_text(fixture).text)
    assert path.read_bytes().decode(fixture.source.encoding) == data.decode(fixture.source.encoding)
