"""Applies fixes: no two that touch, again and again until none is left, and never so that the file stops compiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from amplint.diagnostics import Diagnostic, FileReport, Fix
from amplint.engine.fixed_text import Harm, apply_harmless, edits_of, flaw
from amplint.model.records import frozen
from amplint.source import Source
from amplint.system import limits

_ROUNDS = 10

Lint = Callable[[Source], FileReport]


@frozen
class FixOutcome:
    """What fixing made of a file.

    `text` is the new text (the old one when nothing was applied), `applied` the number of fixes applied for each code,
    `report` what linting says about `text`, and `error` the one-line reason why some fix was not applied, or none was.
    """

    text: str
    applied: Counter[str] = field(default_factory=Counter)
    report: FileReport = field(default_factory=lambda: FileReport(""))
    error: str = ""


def fix_source(source: Source, lint: Lint, unsafe: bool) -> FixOutcome:
    """Apply the fixes that linting offers until there is none left.

    A fix after which the file would not compile, or a name would be used unbound, is left out; fixes that never settle, need a
    character that the file's encoding lacks, cost too much or bring linting down leave the whole file as it was. `error` says
    so, and names the rules.

    Args:
        source: the file.
        lint: says what is found in a text; it is asked again after each round.
        unsafe: whether to apply the unsafe fixes, too.
    """
    first = lint(source)
    current, report = source, first
    texts = {source.text}
    applied: Counter[str] = Counter()
    for round_ in range(_ROUNDS + 1):
        tried = [(each, flaw(each, current)) for each in fixable(report, unsafe)]
        harm = Harm((each.code, why) for each, why in tried if why)
        wanted = [each for each, why in tried if not why]
        try:
            with limits.bounded():
                text, used = apply_harmless(current, wanted, harm)
        except limits.TooCostly as problem:
            return FixOutcome(source.text, report=first, error=f"fixing {problem}; nothing was fixed")
        if not used:
            return encodable(source, first, FixOutcome(current.text, applied, report, _left_out(harm)))
        if text in texts or round_ == _ROUNDS and len(wanted) >= len(fixable(first, unsafe)):
            return FixOutcome(
                source.text, report=first, error=f"the fixes of {_codes(used)} never settle; nothing was fixed"
            )
        if round_ == _ROUNDS:
            break
        texts.add(text)
        current = replace(current, text=text)
        report = lint(current)
        if report.error and not first.error:
            return FixOutcome(source.text, report=first, error=f"after the fixes of {_codes(used)}: {report.error}")
        applied.update(diagnostic.code for diagnostic in used)
    return encodable(source, first, FixOutcome(current.text, applied, report, _left_out(harm)))


def fixed_by(source: Source, diagnostic: Diagnostic) -> str | None:
    """The text after the fix of one finding; None where that would do harm, has no edits, or is not written in its encoding.

    Args:
        source: the file.
        diagnostic: a finding in it.
    """
    if not edits_of(diagnostic) or flaw(diagnostic, source):
        return None
    try:
        with limits.bounded():
            text, used = apply_harmless(source, [diagnostic], set())
    except limits.TooCostly:
        return None
    outcome = FixOutcome(text, Counter(diagnostic.code for diagnostic in used))
    return outcome.text if encodable(source, outcome.report, outcome).applied else None


def fixable(report: FileReport, unsafe: bool) -> list[Diagnostic]:
    """The findings with a fix that may be applied, in the order of their first edits.

    Args:
        report: what was found in one file.
        unsafe: whether unsafe fixes count beside the safe ones.
    """
    return _with_fix(report, lambda fix: fix.is_applied(unsafe))


def never_applied(report: FileReport) -> list[Diagnostic]:
    """The findings with a fix that is never applied, in the order of their first edits."""
    return _with_fix(report, lambda fix: not fix.is_applied())


def _with_fix(report: FileReport, is_wanted: Callable[[Fix], bool]) -> list[Diagnostic]:
    found = [one for one in report.diagnostics if one.fix and one.fix.edits and is_wanted(one.fix)]
    return sorted(found, key=lambda one: (edits_of(one)[0], one.sort_key))


def encodable(source: Source, first: FileReport, outcome: FixOutcome) -> FixOutcome:
    """The outcome, if its text can be written without other bytes changing, else that nothing was fixed.

    Args:
        source: the file as it stands.
        first: what was found in it.
        outcome: what was made of it.
    """
    if not outcome.applied:
        return outcome
    message = f"its text cannot be written back in {source.encoding} byte for byte; nothing was fixed"
    try:
        source.encode(outcome.text)
        if source.faithful:
            return outcome
    except UnicodeEncodeError as error:
        lacking = error.object[error.start]
        message = (
            f"the fixes of {_names(outcome.applied)} need {lacking!r}, which {source.encoding} lacks; nothing was fixed"
        )
    except UnicodeError:  # few codecs are so short of words
        pass
    return FixOutcome(source.text, report=first, error=message)


def _left_out(harm: Harm) -> str:
    reasons = sorted({reason for _, reason in harm})
    return "; ".join(
        f"a fix of {_names(code for code, why in harm if why == reason)} {reason} and was left out"
        for reason in reasons
    )


def _codes(used: Sequence[Diagnostic]) -> str:
    return _names({diagnostic.code for diagnostic in used})


def _names(codes: Iterable[str]) -> str:
    return ", ".join(sorted(codes))
