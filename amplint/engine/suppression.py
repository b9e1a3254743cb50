"""What suppression comments silence, and which of them silence nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from amplint.diagnostics import Diagnostic, Edit, Fix
from amplint.engine.comments import layout
from amplint.engine.nearest import nearest
from amplint.engine.selection import SYNTAX_ERROR, UNKNOWN_SUPPRESSION, UNUSED_SUPPRESSION, names
from amplint.engine.suppression_comments import Directive, DirectiveWord, code_letters, directives_in
from amplint.model.records import NamedTuple
from amplint.source import Source

_FEW = 64
"""Rows; a comment that speaks of more is asked about every finding."""
ENGINE_CODES = frozenset(names(()))
"""What the engine itself reports."""


class _Rows:
    """The suppressions that may speak of a row, so that not all of them are asked about every finding."""

    def __init__(self, directives: Sequence[Directive]) -> None:
        self._wide: list[Directive] = []
        self._at: dict[int, list[Directive]] = {}
        for directive in directives:
            target = directive.comment.target or ()
            if directive.speaks_of_file or len(target) > _FEW:
                self._wide.append(directive)
            else:
                for row in {directive.comment.row, *target}:
                    self._at.setdefault(row, []).append(directive)

    def of(self, diagnostic: Diagnostic) -> list[Directive]:
        """Those that may speak of a finding."""
        return self._wide + self._at.get(diagnostic.range.start.row, [])


class _Run(NamedTuple):
    """What a file's suppressions are held against: the codes that were looked for, the name of each code, and what each
    suppression, by its start, was used for."""

    source: Source
    active: frozenset[str]
    opt_in: frozenset[str]
    known: Mapping[str, str]
    used: set[tuple[int, str]]

    def finding(self, code: str, start: int, end: int, message: str, fix: Fix | None = None) -> Diagnostic:
        """One that a suppression itself gives rise to."""
        where = self.source.range(start, end)
        no_fix = "" if fix else "only you can say what is meant"
        return Diagnostic(code, self.known[code], message, where, fix=fix, path=self.source.path, no_fix=no_fix)


def suppress(
    source: Source,
    diagnostics: Sequence[Diagnostic],
    active: frozenset[str],
    known: Mapping[str, str],
    opt_in: frozenset[str] = frozenset(),
) -> tuple[Diagnostic, ...]:
    """What remains of a file's findings, and what there is to say about its suppression comments, in order of place.

    A code that was not looked for is never called unused; nor is a prefix, unless all that stand for it by default were
    looked for; nor is anything in a file that does not parse.

    Args:
        source: the file.
        diagnostics: what was found in it.
        active: the codes that were looked for.
        known: the name of each code.
        opt_in: the codes that are off by default.
    """
    if "amplint" not in source.text and "noqa" not in source.text.lower():
        return tuple(diagnostics)
    known = {**names(()), **known}
    directives = [directive for comment in layout(source).comments for directive in directives_in(comment, known)]
    at = _Rows(directives)
    used: set[tuple[int, str]] = set()
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        remaining = _unsilenced(diagnostic, at, used)
        if remaining is not None:
            kept.append(remaining)
    if not any(diagnostic.code == SYNTAX_ERROR for diagnostic in diagnostics):
        kept.extend(_about(_Run(source, active, opt_in, known, used), directives, at))
    return tuple(sorted(kept, key=lambda diagnostic: diagnostic.sort_key))


def _unsilenced(diagnostic: Diagnostic, at: _Rows, used: set[tuple[int, str]]) -> Diagnostic | None:
    """A finding at those of its places that no comment speaks of; None where comments speak of all. Notes what was `used`."""
    spoken, remaining = diagnostic.places, []
    for place in spoken:
        here = replace(diagnostic, range=place)
        silencing = [directive for directive in at.of(here) if directive.silences(here)]
        used.update((directive.start, diagnostic.code) for directive in silencing)
        if not silencing:
            remaining.append(place)
    if len(remaining) == len(spoken):
        return diagnostic
    return diagnostic.only_at(remaining) if remaining else None


def _about(run: _Run, directives: list[Directive], at: _Rows) -> Iterator[Diagnostic]:
    prefixes = code_letters(run.known)
    for directive in directives:
        for diagnostic in [*_unknown(run, directive, prefixes), *_unused(run, directive)]:
            # Its own comment says nothing about this finding, unless it names its code.
            silent = any(
                other.silences(diagnostic) and (other is not directive or not other.bare) for other in at.of(diagnostic)
            )
            if diagnostic.code in run.active and not silent:
                yield diagnostic


def _unknown(run: _Run, directive: Directive, prefixes: frozenset[str]) -> Iterator[Diagnostic]:
    if directive.fault or directive.doubt:
        yield run.finding(UNKNOWN_SUPPRESSION, directive.start, directive.end, directive.fault or directive.doubt)
        return
    for word in directive.words:
        if word.codes or (not directive.own and word.text.rstrip("0123456789") not in prefixes):
            continue
        near = nearest(word.text, [*run.known, *run.known.values()])
        message = f"Suppression of unknown rule `{word.text}`{near}"
        yield run.finding(UNKNOWN_SUPPRESSION, word.start, word.end, message)


def _unused(run: _Run, directive: Directive) -> Iterator[Diagnostic]:
    if directive.fault:
        return
    if directive.bare:
        if directive.action == "ignore" and not any(start == directive.start for start, _ in run.used):
            fix = _removal(run.source, directive, ())
            yield run.finding(UNUSED_SUPPRESSION, directive.start, directive.end, "Suppression is not used", fix)
        return
    unused = tuple(word for word in directive.words if _is_unused(run, word, directive))
    if unused:
        listed = ", ".join(f"`{word.text}`" for word in unused)
        fix = _removal(run.source, directive, unused)
        message = f"Suppression of {listed} is not used"
        yield run.finding(UNUSED_SUPPRESSION, unused[0].start, unused[-1].end, message, fix)


def _is_unused(run: _Run, word: DirectiveWord, directive: Directive) -> bool:
    expected = word.codes - run.opt_in or word.codes
    judged = bool(expected) and expected <= run.active and not word.codes & ENGINE_CODES
    return judged and not any((directive.start, code) in run.used for code in word.codes)


def _removal(source: Source, directive: Directive, unused: tuple[DirectiveWord, ...]) -> Fix:
    """Remove the unused words; the whole directive when nothing else is in it, the line when nothing else is on it."""
    if len(unused) < len(directive.words):
        return Fix("Remove the unused code" + "s" * (len(unused) > 1), _word_removals(directive, unused))
    comment = directive.comment
    before, after = source.text[comment.start : directive.start], source.text[directive.end : comment.end]
    start, end = directive.start, directive.end
    if not after.strip():  # nothing follows
        end = comment.end
        line = source.line_starts[comment.row - 1]
        start -= len(source.text[line:start]) - len(source.text[line:start].rstrip())
        if not before.strip() and comment.alone:
            start, following = line, comment.row < len(source.line_starts)
            end = source.line_starts[comment.row] if following else comment.end
    elif after.lstrip().startswith("#"):  # another comment follows
        end += len(after) - len(after.lstrip())
    else:  # the author's own words follow: they stay, behind the "#"
        start += 1
        end += len(after) - len(after.lstrip(" \t-:,.;")) - 1
        return Fix("Remove the unused suppression", (Edit(start, end + 1, " "),))
    return Fix("Remove the unused suppression", (Edit(start, end, ""),))


def _word_removals(directive: Directive, unused: tuple[DirectiveWord, ...]) -> tuple[Edit, ...]:
    words = directive.words
    edits: list[Edit] = []
    for index, word in enumerate(words):
        if word not in unused:
            continue
        if any(kept not in unused for kept in words[:index]):
            start, end = words[index - 1].end, word.end  # with the separator before it
        else:
            start, end = word.start, words[index + 1].start  # with the separator after it
        if edits and edits[-1].end == start:
            start = edits.pop().start
        edits.append(Edit(start, end, ""))
    return tuple(edits)
