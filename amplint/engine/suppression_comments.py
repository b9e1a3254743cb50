"""Suppression comments as they are read: what each names, of what it speaks, and what is wrong with it.

`# noqa` and `# noqa: AMP101` are read as flake8 reads them; codes of other tools are left alone, and a bare `# noqa` is
never called unused. `# amplint: ignore`, `# amplint: ignore[AMP101, clip-before-unscale]` do the same for amplint alone, and
on a line of their own they speak of the next statement. `# amplint: file-ignore[...]` speaks of the whole file; so do
`# flake8: noqa` and `# ruff: noqa`, with codes or without, on a line of their own, as in these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from amplint.diagnostics import Diagnostic
from amplint.engine.comments import Comment
from amplint.engine.nearest import nearest
from amplint.engine.selection import ALL, select
from amplint.model.records import NamedTuple

# Compiled when first used: most runs meet no such comment.
_NOQA = r"noqa)(?!\w)(?:\s*:\s*(?P<words>[A-Z]+\d+(?![\w-])(?:[,\s]+[A-Z]+\d+(?![\w-]))*))?"
NOQA = rf"#\s*(?P<word>{_NOQA}"
FILE_NOQA = rf"#\s*(?P<word>(?:flake8|ruff)\s*:\s*{_NOQA}"
OWN = r"#\s*amplint\s*:\s*(?P<word>[\w-]+)(?P<list>\s*\[(?P<words>[^\]#]*)(?P<end>\])?)?"
_WORD = r"[^\s,]+"
_LONGEST = 10_000
"""Characters; a longer comment is no suppression, whatever it says."""
_ACTIONS = ["ignore", "file-ignore"]
_NOQAS = ("noqa", "file-noqa")


class DirectiveWord(NamedTuple):
    """A rule named in a comment: the text from `start` up to `end`, and the codes it stands for."""

    text: str
    start: int
    end: int
    codes: frozenset[str]


class Directive(NamedTuple):
    """One suppression: from its `#` at `start` up to `end`; it names `words`, or everything when it is `bare`.

    The `action` is `ignore` or `noqa`, for a line or a statement, `file-ignore` or `file-noqa`, for the file.
    One with a `fault`, in words, does nothing. One with a `doubt` does more than its author is likely to think.
    """

    comment: Comment
    start: int
    end: int
    action: str
    bare: bool
    words: tuple[DirectiveWord, ...]
    fault: str = ""
    doubt: str = ""

    @property
    def own(self) -> bool:
        """Whether it is addressed to amplint alone."""
        return self.action not in _NOQAS

    @property
    def speaks_of_file(self) -> bool:
        """Whether it speaks of all of the file."""
        return self.action.startswith("file-")

    def covers(self, row: int) -> bool:
        """Whether it speaks of a finding on this row."""
        if self.speaks_of_file:
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


def directives_in(comment: Comment, known: Mapping[str, str]) -> Iterator[Directive]:
    """The suppressions in a comment, which may hold several.

    Args:
        comment: the comment.
        known: the name of each code.
    """
    if len(comment.text) > _LONGEST:
        return
    for match in re.finditer(NOQA, comment.text, re.IGNORECASE):
        directive = _directive(comment, match, "noqa", known)
        if directive.bare and _names_rule(comment.text[match.end() :], known):
            directive = directive._replace(
                doubt="Suppression of everything: `noqa` takes codes behind a colon, and no names"
            )
        yield directive
    if whole := re.match(FILE_NOQA, comment.text, re.IGNORECASE):
        directive = _directive(comment, whole, "file-noqa", known)
        if not comment.alone:
            directive = directive._replace(fault="Suppression of a whole file stands on a line of its own")
        if comment.alone or any(word.codes for word in directive.words):
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
    if any(re.match(rf"{prefix}\w*\d", word) for prefix in code_letters(known)):
        return True
    written = word.isupper() or "-" in word or word.upper() in known
    return written and word != ALL and bool(select(word, known))


def code_letters(known: Mapping[str, str]) -> frozenset[str]:
    """The letters that codes begin with."""
    return frozenset(code.rstrip("0123456789") for code in known)


def _directive(comment: Comment, match: re.Match[str], action: str, known: Mapping[str, str]) -> Directive:
    words = []
    for word in re.finditer(_WORD, match["words"] or ""):
        text = word.group().upper() if action in _NOQAS else word.group()
        start = comment.start + match.start("words") + word.start()
        words.append(DirectiveWord(text, start, start + len(text), select(text, known)))
    start, end = comment.start + match.start(), comment.start + match.end()
    return Directive(comment, start, end, action, match["words"] is None, tuple(words))
