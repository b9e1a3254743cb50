"""Applies fixes: no two that touch, again and again until none is left, and never so that the file stops compiling."""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from amplint.diagnostics import Applicability, Diagnostic, Edit, FileReport
from amplint.engine.fix_conflicts import Taken, claims, stutters
from amplint.python_ast.gate import is_python
from amplint.source import Source
from amplint.system import atomic, limits
from amplint.system.reading import read_file

_ROUNDS = 10
_TOP_LEVEL_AWAIT = 0x2000
"""`ast.PyCF_ALLOW_TOP_LEVEL_AWAIT`, without the cost of that module: a notebook may await outside of functions."""
_LINE_END = re.compile(r"\r\n|\r|\n")

_BREAKS = "would break the file"
_AGAIN = "would do again what stands there already"

Lint = Callable[[Source], FileReport]
_Harm = set[tuple[str, str]]
"""Codes of rules, each with the harm that a fix of theirs would do."""


class FixError(Exception):
    """A file could not be written; the message is one line without the path. The file is as it was."""


@dataclass(frozen=True)
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
        wanted = fixable(report, unsafe)
        harm = _Harm({(each.code, _flaw(each, current)) for each in wanted} - {(each.code, "") for each in wanted})
        wanted = [each for each in wanted if not _flaw(each, current)]
        try:
            with limits.bounded():
                text, used = _apply_harmless(current, wanted, harm)
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
    if not _edits(diagnostic) or _flaw(diagnostic, source):
        return None
    try:
        with limits.bounded():
            text, used = _apply_harmless(source, [diagnostic], set())
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
    return _with_fix(report, (Applicability.SAFE, Applicability.UNSAFE) if unsafe else (Applicability.SAFE,))


def never_applied(report: FileReport) -> list[Diagnostic]:
    """The findings with a fix that is never applied, in the order of their first edits."""
    return _with_fix(report, (Applicability.DISPLAY,))


def _with_fix(report: FileReport, trusted: tuple[Applicability, ...]) -> list[Diagnostic]:
    found = [one for one in report.diagnostics if one.fix and one.fix.edits and one.fix.applicability in trusted]
    return sorted(found, key=lambda one: (_edits(one)[0], one.sort_key))


def _flaw(diagnostic: Diagnostic, source: Source) -> str:
    """What is wrong with a fix, before it is tried."""
    places = [place for edit in _edits(diagnostic) for place in (edit.start, edit.end)]
    if places != sorted(places) or places[0] < 0 or places[-1] > len(source.text):
        return _BREAKS
    return _AGAIN if stutters(source.text, _edits(diagnostic)) else ""


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


def _damage(source: Source, text: str) -> str:
    """What an edited text is worse in than the one it was made from: it does not compile, or parse, it is no longer that of the
    same notebook, or it leaves a name unbound; empty for nothing."""
    if source.notebook is not None:
        from amplint.notebook import CellsCrossed  # few files are notebooks

        try:
            source.notebook.edited(text)
        except CellsCrossed:
            return _BREAKS
    if not compiles(text):
        if compiles(source.text) or is_python(source.text) and not is_python(text):
            return _BREAKS
        if not is_python(text):
            return ""
    from amplint.python_ast.definite_assignment import newly_unbound  # only what is fixed needs it

    names = ", ".join(f"`{name}`" for name in newly_unbound(source.text, text))
    return f"would leave {names} unbound" if names else ""


def _left_out(harm: _Harm) -> str:
    reasons = sorted({reason for _, reason in harm})
    return "; ".join(
        f"a fix of {_names(code for code, why in harm if why == reason)} {reason} and was left out"
        for reason in reasons
    )


def _codes(used: Sequence[Diagnostic]) -> str:
    return _names({diagnostic.code for diagnostic in used})


def _names(codes: Iterable[str]) -> str:
    return ", ".join(sorted(codes))


# -- text -------------------------------------------------------------------------------------------------------------


def _apply_harmless(source: Source, wanted: list[Diagnostic], harm: _Harm) -> tuple[str, list[Diagnostic]]:
    """The text with as many of the fixes as can stand together, and those; adds to `harm` what the others would do."""
    text, used = apply(source, wanted)
    if not used or not _damage(source, text):
        return text, used
    text, used = source.text, []
    for diagnostic in wanted:
        attempt, together = apply(source, [*used, diagnostic])
        if len(together) == len(used):
            continue  # stands in the way of one of the others: its turn comes in the next round
        damage = _damage(source, attempt)
        if damage:
            harm.add((diagnostic.code, damage))
        else:
            text, used = attempt, together
    return text, used


def apply(source: Source, wanted: Iterable[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """Apply fixes to a text, each of them whole or not at all, and none that stands in the way of one before it.

    So does one that touches it, and one that mentions a name whose binding the other takes away. An insertion that several
    fixes have in common, such as an import, is made once and keeps none of them back.

    Args:
        source: the text as it stands.
        wanted: findings with fixes, the most important first.

    Returns:
        The new text, and the diagnostics whose fixes are in it.
    """
    taken = Taken()
    used = [each for each in wanted if taken.takes(claims(source.text, _edits(each)))]
    parts: list[str] = []
    end = 0
    for edit in sorted(taken.edits):
        parts += [source.text[end : edit.start], _dressed(edit.replacement, source.newline)]
        end = edit.end
    return "".join([*parts, source.text[end:]]), used


def _edits(diagnostic: Diagnostic) -> tuple[Edit, ...]:
    return tuple(sorted(diagnostic.fix.edits)) if diagnostic.fix else ()


def _dressed(replacement: str, newline: str) -> str:
    return replacement if newline == "\n" else _LINE_END.sub(newline, replacement)


def compiles(text: str) -> bool:
    """Whether Python accepts a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", _TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


# -- files ------------------------------------------------------------------------------------------------------------


class Changed(FixError):
    """Another program changed the file after it was read."""


def write(path: Path, expected: bytes, new: bytes, others: Iterable[str] = ()) -> None:
    """Replace the content of a file in one step; whoever looks sees the old content or the new one.

    Permissions and, where allowed, ownership stay; of a symbolic link it is the file behind it that is replaced.

    Args:
        path: the file.
        expected: what it holds, if nobody has changed it since it was read.
        new: what it is to hold.
        others: names of the file that still shall be hard links of it afterwards; any other name keeps the old content.

    Raises:
        Changed: the file does not hold `expected` any more.
        FixError: it is read-only, or the disk refuses.
    """
    target = os.path.realpath(path)
    try:
        _refuse_changed(target, expected)
        if not os.access(target, os.W_OK):
            raise FixError("cannot be written: it is read-only")
        linked = [name for name in others if os.path.lexists(name) and os.path.samefile(name, target)]
        atomic.replace(target, new, last_look=lambda: _refuse_changed(target, expected))
    except OSError as error:
        raise FixError(f"cannot be written: {error.strerror or error}") from error
    for name in linked:
        _follow(target, name)


def _follow(target: str, name: str) -> None:
    """Make a hard link of the file that was there one of the file that took its place."""
    try:
        if not os.path.samefile(target, name):  # another way to spell its path, or another run was here
            atomic.relink(target, name)
    except OSError as error:
        raise FixError(f"is fixed, but not under its other name {name}: {error.strerror or error}") from error


def _refuse_changed(target: str, expected: bytes) -> None:
    if not stat.S_ISREG(os.stat(target).st_mode):
        raise FixError("cannot be written: not a regular file")
    if read_file(target) != expected:
        raise Changed("changed on disk since it was read; not fixed")
