"""The whole story of each finding: the code with its places marked, the reason, the fix as a diff."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic, Edit, Fix, Range
from amplint.engine.severity import severity
from amplint.notebook import CellsCrossed
from amplint.report import diff
from amplint.report.escape import printable
from amplint.report.view import View
from amplint.source import Source

_TAB = 4
_CONTEXT = 1  # rows of code shown around each place
_Label = tuple[Range, str, str]  # a place, the sign that marks it, the words beside the mark


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A block for each finding, a blank line after each."""
    for diagnostic in diagnostics:
        mark = view.paint(view.mark(diagnostic.fix), "mark")
        level = severity(diagnostic)
        code, said = view.paint(f"{diagnostic.code} {level}:", level), view.paint(diagnostic.message, "bold")
        yield f"{code} {said} {view.paint(f'({diagnostic.name})', 'quiet')}{mark}\n"
        yield from _places(diagnostic, view)
        if diagnostic.note:
            yield f"  {view.paint('note:', 'bold')} {printable(diagnostic.note)}\n"
        if diagnostic.fix is not None:
            yield from _fix(diagnostic.fix, diagnostic.path, view)
        elif diagnostic.no_fix:
            yield f"  {view.paint('no fix:', 'bold')} {printable(diagnostic.no_fix)}\n"
        yield "\n"


def _places(diagnostic: Diagnostic, view: View) -> Iterator[str]:
    main = (diagnostic.path, diagnostic.range.start.cell)
    labels: dict[tuple[str, int], list[_Label]] = {main: [(diagnostic.range, "^", "")]}
    for other in diagnostic.related:
        beside = (other.path or diagnostic.path, other.range.start.cell)
        labels.setdefault(beside, []).append((other.range, "-", other.message))
    for (path, _), here in labels.items():
        yield f"  {view.paint('-->', 'place')} {printable(_shown(path))}:{here[0][0].start}\n"
        source = view.source(path)
        if source is not None:
            yield from _snippet(source, here, view)


def _shown(path: str) -> str:
    """A path as short as it can be said here: other files of a project are known by where they lie."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


def _snippet(source: Source, labels: list[_Label], view: View) -> Iterator[str]:
    rows = source.rows_beside(labels[0][0].start.row)
    shown = sorted({
        row
        for place, _, _ in labels
        for row in range(place.start.row - _CONTEXT, place.start.row + _CONTEXT + 1)
        if row in rows and (row == place.start.row or source.line(row).strip())
    })  # fmt: skip
    width = len(str(shown[-1] - rows.start + 1)) if shown else 1
    bar = view.paint("|", "place")
    previous = shown[0] if shown else 0
    for row in shown:
        if row > previous + 1:
            yield view.paint("  " + "." * max(width, 3), "place") + "\n"
        previous = row
        text = _expand(printable(source.written(row), tabs=True))
        yield f"  {view.paint(f'{row - rows.start + 1:{width}}', 'place')} {bar} {text}".rstrip() + "\n"
        for place, sign, words in sorted(labels, key=lambda label: label[0].start):
            if place.start.row == row:
                yield f"  {' ' * width} {bar} {_marks(source, place, sign, words, view)}\n"


def _marks(source: Source, place: Range, sign: str, words: str, view: View) -> str:
    line = source.line(place.start.row)
    first = place.start.column - 1
    last = place.end.column - 1 if place.end.row == place.start.row else len(line.rstrip())
    before = _columns(line[:first])
    length = max(_columns(line[:last]) - before, 1)
    style = "code" if sign == "^" else "mark"
    return " " * before + view.paint(f"{sign * length} {words}".rstrip(), style)


def _expand(line: str) -> str:
    text, *others = line.split("\t")
    width = _columns(text)
    for other in others:
        gap = _TAB - width % _TAB
        text += " " * gap + other
        width += gap + _columns(other)
    return text


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes, tabs expanded."""
    width = 0
    for character in printable(text, tabs=True):
        if character == "\t":
            width += _TAB - width % _TAB
        elif not unicodedata.combining(character):
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def _fix(fix: Fix, path: str, view: View) -> Iterator[str]:
    trust = "" if fix.applicability.value == "safe" else f" ({fix.applicability.value})"
    yield f"  {view.paint('fix:', 'bold')} {printable(fix.title)}{trust}\n"
    source = view.source(path)
    if source is None or not fix.edits:  # advice alone
        return
    for before, after, name in _changes(source, fix.edits):
        if name:
            yield f"    {view.paint(f'  {name}', 'quiet')}\n"
        for line in list(diff.unified(before, after, path, context=_CONTEXT))[3:]:
            sign, text = line[0], _expand(printable(line[1:].rstrip("\r\n"), tabs=True))
            shown = "  ..." if sign == "@" else f"{sign} {text}".rstrip()
            if sign != "\\":  # a missing line end at the end of the file is no news here
                yield f"    {view.paint(shown, diff.style(line) or 'quiet')}".rstrip() + "\n"


def _changes(source: Source, edits: Sequence[Edit]) -> Iterator[tuple[str, str, str]]:
    """The texts that a fix changes, before and after, and their names: in a notebook, cells."""
    if source.notebook is None:
        yield *_window(source, edits), ""
        return
    before = source.notebook.written(source.text)
    try:
        after = source.notebook.written(diff.applied(source.text, edits))
    except CellsCrossed:
        return  # it cannot be applied, either
    for number, *texts in zip(source.notebook.numbers, before, after):
        if texts[0] != texts[1]:
            yield texts[0], texts[1], f"cell {number}"


def _window(source: Source, edits: Sequence[Edit]) -> tuple[str, str]:
    """The rows around the edits, before and after: a whole file may be long to compare."""
    first = max(source.position(edits[0].start).row - _CONTEXT - 2, 1)
    last = source.position(edits[-1].end).row + _CONTEXT + 2
    start = source.line_starts[first - 1]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
    moved = [Edit(edit.start - start, edit.end - start, edit.replacement) for edit in edits]
    text = source.text[start:end]
    return text, diff.applied(text, moved)
