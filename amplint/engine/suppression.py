"""Suppression comments: what they silence, and which of them silence nothing.

`# noqa` and `# noqa: AMP101` are read as flake8 reads them; codes of other tools are left alone, and a bare `# noqa` is
never called unused. `# amplint: ignore`, `# amplint: ignore[AMP101, clip-before-unscale]` do the same for amplint alone, and
on a line of their own they speak of the next statement. `# amplint: file-ignore[...]` speaks of the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from amplint.diagnostics import Diagnostic, Edit, Fix
from amplint.engine.comments import Comment, layout
from amplint.engine.nearest import nearest
from amplint.engine.selection import (
    ALL,
    SYNTAX_ERROR,
    UNKNOWN_SUPPRESSION,
    UNUSED_SUPPRESSION,
    names,
    select,
)
from amplint.source import Source

# Compiled when first used: most runs meet no such comment.
NOQA = r"#\s*(?P<word>noqa)(?!\w)(?:\s*:\s*(?P<words>[A-Z]+\d+(?![\w-])(?:[,\s]+[A-Z]+\d+(?![\w-]))*))?"
OWN = r"#\s*amplint\s*:\s*(?P<word>[\w-]+)(?P<list>\s*\[(?P<words>[^\]#]*)(?P<end>\])?)?"
_WORD = r"[^\s,]+"
_LONGEST = 10_000
"""Characters; a longer comment is no suppression, whatever it says."""
_FEW = 64
"""Rows; a comment that speaks of more is asked about every finding."""
_ACTIONS = ["ignore", "file-ignore"]
ENGINE_CODES = frozenset(names(()))
"""What the engine itself reports."""


class _Word(NamedTuple):
    """A rule named in a comment: the text from `start` up to `end`, and the codes it stands for."""

    text: str
    start: int
    end: int
    codes: frozenset[str]


class _Directive(NamedTuple):
    """One suppression: from its `#` at `start` up to `end`; it names `words`, or everything when it is `bare`.

    One with a `fault`, in words, does nothing. One with a `doubt` does more than its author is likely to think.
    """

    comment: Comment
    start: int
    end: int
    action: str
    bare: bool
    words: tuple[_Word, ...]
    fault: str = ""
    doubt: str = ""

    @property
    def own(self) -> bool:
        """Whether it is addressed to amplint alone."""
        return self.action != "noqa"

    def covers(self, row: int) -> bool:
        """Whether it speaks of a finding on this row."""
        if self.action == "file-ignore":
            return True
        if row == self.comment.row:
            return True
        if self.comment.alone and not self.own:  # flake8 knows `noqa` only behind code
            return False
        return self.comment.target is not None and row in self.comment.target

    def silences(self, diagnostic: Diagnostic) -> bool:
        """Whether it suppresses a finding."""
        named = self.bare or any(diagnostic.code in word.codes for word in self.words)
        return named and not self.fault and self.covers(diagnostic.range.start.row)


class _Rows:
    """The suppressions that may speak of a row, so that not all of them are asked about every finding."""

    def __init__(self, directives: Sequence[_Directive]) -> None:
        self._wide: list[_Directive] = []
        self._at: dict[int, list[_Directive]] = {}
        for directive in directives:
            target = directive.comment.target or ()
            if directive.action == "file-ignore" or len(target) > _FEW:
                self._wide.append(directive)
            else:
                for row in {directive.comment.row, *target}:
                    self._at.setdefault(row, []).append(directive)

    def of(self, diagnostic: Diagnostic) -> list[_Directive]:
        """Those that may speak of a finding."""
        return self._wide + self._at.get(diagnostic.range.start.row, [])


class _Run(NamedTuple):
    """What a file's suppressions are held against: the codes that were looked for, the name of each code, and what each
    suppression, by its start, was used for."""

    source: Source
    active: frozenset[str]
    known: Mapping[str, str]
    used: set[tuple[int, str]]

    def finding(self, code: str, start: int, end: int, message: str, fix: Fix | None = None) -> Diagnostic:
        """One that a suppression itself gives rise to."""
        where = self.source.range(start, end)
        return Diagnostic(code, self.known[code], message, where, fix=fix, path=self.source.path)


def suppress(
    source: Source, diagnostics: Sequence[Diagnostic], active: frozenset[str], known: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """What remains of a file's findings, and what there is to say about its suppression comments, in order of place.

    A code that was not looked for is never called unused; nor is anything in a file that does not parse.

    Args:
        source: the file.
        diagnostics: what was found in it.
        active: the codes that were looked for.
        known: the name of each code.
    """
    if "amplint" not in source.text and "noqa" not in source.text.lower():
        return tuple(diagnostics)
    known = {**names(()), **known}
    directives = [directive for comment in layout(source).comments for directive in _directives(comment, known)]
    at = _Rows(directives)
    used: set[tuple[int, str]] = set()
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        remaining = _unsilenced(diagnostic, at, used)
        if remaining is not None:
            kept.append(remaining)
    if not any(diagnostic.code == SYNTAX_ERROR for diagnostic in diagnostics):
        kept.extend(_about(_Run(source, active, known, used), directives, at))
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


def _directives(comment: Comment, known: Mapping[str, str]) -> Iterator[_Directive]:
    if len(comment.text) > _LONGEST:
        return
    for match in re.finditer(NOQA, comment.text, re.IGNORECASE):
        directive = _directive(comment, match, "noqa", known)
        if directive.bare and _names_rule(comment.text[match.end() :], known):
            directive = directive._replace(
                doubt="Suppression of everything: `noqa` takes codes behind a colon, and no names"
            )
        yield directive
    for match in re.finditer(OWN, comment.text):
        near = nearest(match["word"], _ACTIONS)
        rule_follows = _names_rule(comment.text[match.end() :], known)
        if match["word"] not in _ACTIONS and not match["list"] and not near and not rule_follows:
            continue  # prose
        directive = _directive(comment, match, match["word"], known)
        if match["word"] not in _ACTIONS:
            meant = near or "; did you mean `ignore[...]`?"
            directive = directive._replace(fault=f"Suppression with unknown action `{match['word']}`{meant}")
        elif match["list"] and not match["end"]:
            directive = directive._replace(fault="Suppression without a closing bracket")
        elif match["list"] and not directive.words:
            directive = directive._replace(fault="Suppression names no rule")
        elif not match["list"] and rule_follows:
            directive = directive._replace(fault="Suppression names its rules without brackets")
        yield directive


def _names_rule(text: str, known: Mapping[str, str]) -> bool:
    """Whether a text begins with a code, a prefix of codes, or the name of a rule, or with what was meant for a code, behind a
    colon or the like."""
    found = re.match(r"[\s:=(\[]*([\w-]+)", text)
    word = found[1] if found else ""
    if any(re.match(rf"{prefix}\w*\d", word) for prefix in _prefixes(known)):
        return True
    written = word.isupper() or "-" in word or word.upper() in known
    return written and word != ALL and bool(select(word, known))


def _prefixes(known: Mapping[str, str]) -> frozenset[str]:
    """The letters that codes begin with."""
    return frozenset(code.rstrip("0123456789") for code in known)


def _directive(comment: Comment, match: re.Match[str], action: str, known: Mapping[str, str]) -> _Directive:
    words = []
    for word in re.finditer(_WORD, match["words"] or ""):
        text = word.group().upper() if action == "noqa" else word.group()
        start = comment.start + match.start("words") + word.start()
        words.append(_Word(text, start, start + len(text), select(text, known)))
    start, end = comment.start + match.start(), comment.start + match.end()
    return _Directive(comment, start, end, action, match["words"] is None, tuple(words))


def _about(run: _Run, directives: list[_Directive], at: _Rows) -> Iterator[Diagnostic]:
    prefixes = _prefixes(run.known)
    for directive in directives:
        for diagnostic in [*_unknown(run, directive, prefixes), *_unused(run, directive)]:
            # Its own comment says nothing about this finding, unless it names its code.
            silent = any(
                other.silences(diagnostic) and (other is not directive or not other.bare) for other in at.of(diagnostic)
            )
            if diagnostic.code in run.active and not silent:
                yield diagnostic


def _unknown(run: _Run, directive: _Directive, prefixes: frozenset[str]) -> Iterator[Diagnostic]:
    if directive.fault or directive.doubt:
        yield run.finding(UNKNOWN_SUPPRESSION, directive.start, directive.end, directive.fault or directive.doubt)
        return
    for word in directive.words:
        if word.codes or (not directive.own and word.text.rstrip("0123456789") not in prefixes):
            continue
        near = nearest(word.text, [*run.known, *run.known.values()])
        message = f"Suppression of unknown rule `{word.text}`{near}"
        yield run.finding(UNKNOWN_SUPPRESSION, word.start, word.end, message)


def _unused(run: _Run, directive: _Directive) -> Iterator[Diagnostic]:
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


def _is_unused(run: _Run, word: _Word, directive: _Directive) -> bool:
    judged = bool(word.codes) and word.codes <= run.active and not word.codes & ENGINE_CODES
    return judged and not any((directive.start, code) in run.used for code in word.codes)


def _removal(source: Source, directive: _Directive, unused: tuple[_Word, ...]) -> Fix:
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


def _word_removals(directive: _Directive, unused: tuple[_Word, ...]) -> tuple[Edit, ...]:
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
