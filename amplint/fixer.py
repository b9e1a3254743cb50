"""Applies fixes: no two that touch, again and again until none is left, and never so that the file stops compiling."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from amplint.diagnostics import Applicability, Diagnostic, Edit, FileReport
from amplint.gate import is_python
from amplint.source import Source

_ROUNDS = 10
_TOP_LEVEL_AWAIT = 0x2000
"""`ast.PyCF_ALLOW_TOP_LEVEL_AWAIT`, without the cost of that module: a notebook may await outside of functions."""
_LINE_END = re.compile(r"\r\n|\r|\n")

Lint = Callable[[Source], FileReport]


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
    """Apply the safe fixes that `lint` offers, with `unsafe` also the unsafe ones, until there is none left.

    A fix after which the file would not compile is left out; fixes that never settle, need a character that the file's
    encoding lacks, or bring linting down leave the whole file as it was. `error` says so, and names the rules.
    """
    first = lint(source)
    current, report = source, first
    texts = {source.text}
    applied: Counter[str] = Counter()
    broken: set[str] = set()
    for round_ in range(_ROUNDS + 1):
        wanted = fixable(report, unsafe)
        broken |= {one.code for one in wanted if not _is_sound(one, current)}
        wanted = [one for one in wanted if _is_sound(one, current)]
        text, used = _apply_compiling(current, wanted, broken)
        if not used:
            return _encodable(source, first, FixOutcome(current.text, applied, report, _breaks(broken)))
        if text in texts or round_ == _ROUNDS and len(wanted) >= len(fixable(first, unsafe)):
            return FixOutcome(
                source.text, report=first, error=f"the fixes of {_codes(used)} never settle; nothing was fixed"
            )
        if round_ == _ROUNDS:
            break
        texts.add(text)
        current = replace(current, text=text)
        report = lint(current)
        if report.error:
            return FixOutcome(source.text, report=first, error=f"after the fixes of {_codes(used)}: {report.error}")
        applied.update(diagnostic.code for diagnostic in used)
    return _encodable(source, first, FixOutcome(current.text, applied, report, _breaks(broken)))


def fixable(report: FileReport, unsafe: bool) -> list[Diagnostic]:
    """The findings with a safe fix, with `unsafe` also those with an unsafe one, in the order of their first edits."""
    return _with_fix(report, (Applicability.SAFE, Applicability.UNSAFE) if unsafe else (Applicability.SAFE,))


def shown(report: FileReport) -> list[Diagnostic]:
    """The findings with a fix that is never applied, in the order of their first edits."""
    return _with_fix(report, (Applicability.DISPLAY,))


def _with_fix(report: FileReport, trusted: tuple[Applicability, ...]) -> list[Diagnostic]:
    found = [one for one in report.diagnostics if one.fix and one.fix.edits and one.fix.applicability in trusted]
    return sorted(found, key=lambda one: (_edits(one)[0], one.sort_key))


def _is_sound(diagnostic: Diagnostic, source: Source) -> bool:
    places = [place for edit in _edits(diagnostic) for place in (edit.start, edit.end)]
    return places == sorted(places) and 0 <= places[0] and places[-1] <= len(source.text)


def _encodable(source: Source, first: FileReport, outcome: FixOutcome) -> FixOutcome:
    """The outcome, if its text can be written without other bytes changing, else that nothing was fixed."""
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


def _stands(source: Source, text: str) -> bool:
    """Whether a text compiles, or parses, if the one it was made from did; that of a notebook must still have its cells."""
    if source.notebook is not None:
        from amplint.notebook import CellsCrossed  # few files are notebooks

        try:
            source.notebook.edited(text)
        except CellsCrossed:
            return False
    return compiles(text) or not compiles(source.text) and (is_python(text) or not is_python(source.text))


def _breaks(broken: set[str]) -> str:
    return f"a fix of {_names(broken)} would break the file and was left out" if broken else ""


def _codes(used: Sequence[Diagnostic]) -> str:
    return _names({diagnostic.code for diagnostic in used})


def _names(codes: Iterable[str]) -> str:
    return ", ".join(sorted(codes))


# -- text -------------------------------------------------------------------------------------------------------------


def _apply_compiling(source: Source, wanted: list[Diagnostic], broken: set[str]) -> tuple[str, list[Diagnostic]]:
    """The text with as many of the fixes as can stand together, and those; adds the codes of what breaks it to `broken`."""
    text, used = apply(source, wanted)
    if not used or _stands(source, text):
        return text, used
    text, used = source.text, []
    for diagnostic in wanted:
        attempt, together = apply(source, [*used, diagnostic])
        if len(together) == len(used):
            continue  # touches one of the others: its turn comes in the next round
        if _stands(source, attempt):
            text, used = attempt, together
        else:
            broken.add(diagnostic.code)
    return text, used


def apply(source: Source, wanted: Iterable[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """Apply fixes to a text, each of them whole or not at all, and none that touches one before it.

    An insertion that several fixes have in common, such as an import, is made once and keeps none of them back.

    Returns:
        The new text, and the diagnostics whose fixes are in it.
    """
    taken: set[Edit] = set()
    used: list[Diagnostic] = []
    for diagnostic in wanted:
        edits = _edits(diagnostic)
        new = [edit for edit in edits if not (edit.start == edit.end and edit in taken)]
        if not any(_touch(edit, other) for edit in new for other in taken):
            taken.update(new)
            used.append(diagnostic)
    parts: list[str] = []
    end = 0
    for edit in sorted(taken):
        parts += [source.text[end : edit.start], _dressed(edit.replacement, source.newline)]
        end = edit.end
    return "".join([*parts, source.text[end:]]), used


def _edits(diagnostic: Diagnostic) -> tuple[Edit, ...]:
    return tuple(sorted(diagnostic.fix.edits)) if diagnostic.fix else ()


def _touch(one: Edit, other: Edit) -> bool:
    return one.start <= other.end and other.start <= one.end


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


def write(path: Path, expected: bytes, new: bytes) -> None:
    """Replace the content of a file in one step; whoever looks sees the old content or the new one.

    Mode and, where allowed, ownership stay; of a symbolic link it is the file behind it that is replaced.

    Raises:
        FixError: the file does not hold `expected` any more, is read-only, or the disk refuses.
    """
    target = os.path.realpath(path)
    try:
        _refuse_changed(target, expected)
        if not os.access(target, os.W_OK):
            raise FixError("cannot be written: it is read-only")
        handle, beside = tempfile.mkstemp(prefix=".amplint-", suffix=".tmp", dir=os.path.dirname(target))
        try:
            with open(handle, "wb") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            _keep_owner(beside, os.stat(target))
            _refuse_changed(target, expected)
            os.replace(beside, target)
        finally:
            with suppress(FileNotFoundError):  # it was renamed
                os.unlink(beside)
    except OSError as error:
        raise FixError(f"cannot be written: {error.strerror or error}") from error


def _refuse_changed(target: str, expected: bytes) -> None:
    with open(target, "rb") as file:
        if file.read() != expected:
            raise FixError("changed on disk since it was read; not fixed")


def _keep_owner(beside: str, before: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only root may give files away; a group one is in may be kept
            os.chown(beside, before.st_uid, before.st_gid)
    os.chmod(beside, stat.S_IMODE(before.st_mode))  # after the ownership, whose change clears set-id bits
