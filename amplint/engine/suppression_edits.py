"""Suppression comments that are written: one beside each finding, so that a project can begin with none."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from amplint.diagnostics import Diagnostic, Edit, FileReport
from amplint.engine.comments import Comment, layout
from amplint.engine.fixer import FixOutcome, Lint, encodable
from amplint.engine.suppression import ENGINE_CODES
from amplint.engine.suppression_comments import NOQA, OWN
from amplint.source import Source


def suppressible(report: FileReport) -> list[Diagnostic]:
    """The findings that a comment on a line may silence: those of rules, not of the engine about the file and its comments."""
    return [one for one in report.diagnostics if one.code not in ENGINE_CODES]


def suppress_source(source: Source, lint: Lint, own: bool, reason: str = "") -> FixOutcome:
    """Write a comment beside each finding; what the author wrote, comments and layout included, stays.

    Args:
        source: the file.
        lint: says what is found in a text.
        own: whether to write `# amplint: ignore[name]`, rather than `# noqa: CODE`.
        reason: follows what is named, where nothing does.
    """
    first = lint(source)
    text = with_comments(source, suppressible(first), own, reason)
    if text == source.text or not _same_code(source.text, text):
        return FixOutcome(source.text, report=first)
    report = lint(replace(source, text=text))
    applied = Counter(one.code for one in suppressible(first))
    applied.subtract(one.code for one in suppressible(report))
    return encodable(source, first, FixOutcome(text, +applied, report))


def _same_code(before: str, after: str) -> bool:
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def with_comments(source: Source, diagnostics: Sequence[Diagnostic], own: bool, reason: str = "") -> str:
    """The text with a comment at every place of each finding.

    Args:
        source: the text as it stands.
        diagnostics: the findings.
        own: whether to write `# amplint: ignore[name]`, rather than `# noqa: CODE`.
        reason: follows what is named, where nothing does.
    """
    lines = layout(source)
    words: dict[int, set[str]] = {}
    for one in diagnostics:
        for place in one.places:
            words.setdefault(lines.row_for(place.start.row), set()).add(one.name if own else one.code)
    comments = {comment.row: comment for comment in lines.comments}
    parts, end = [], 0
    edits = (_edit(source, row, sorted(each), comments.get(row), own, reason) for row, each in words.items())
    for edit in sorted(edits):
        parts += [source.text[end : edit.start], edit.replacement]
        end = edit.end
    return "".join([*parts, source.text[end:]])


def _edit(source: Source, row: int, words: list[str], comment: Comment | None, own: bool, reason: str) -> Edit:
    """What adds some words to the suppression on a row, or a suppression to the row."""
    listed = ", ".join(words)
    line = source.line(row)
    start = source.offset(row, 0)
    end = start + len(line.rstrip())
    for list_end in _list_ends(comment, own) if comment is not None else ():
        closed = list_end + own
        if closed < end:  # words of the author's follow
            return Edit(list_end, list_end, f", {listed}")
        return Edit(list_end, end, f", {listed}{']' * own}{_behind(reason, own)}")
    text = f"  # amplint: ignore[{listed}]" if own else f"  # noqa: {listed}"
    return Edit(end, start + len(line), text + _behind(reason, own))


def _behind(reason: str, own: bool) -> str:
    """A reason as it follows a list of rules; a dash keeps one that looks like a code out of the list."""
    if not reason:
        return ""
    listed = re.match(NOQA, f"# noqa: E1 {reason}", re.IGNORECASE)
    dash = not own and listed is not None and listed["words"] != "E1"
    return f" - {reason}" if dash else f" {reason}"


def _list_ends(comment: Comment, own: bool) -> Iterator[int]:
    """Where the lists of rules end that a comment holds."""
    for match in re.finditer(OWN if own else NOQA, comment.text, 0 if own else re.IGNORECASE):
        if match["words"] and (not own or (match["word"] == "ignore" and match["end"])):
            yield comment.start + match.start("words") + len(match["words"].rstrip())
