"""Which finding in a changed file is which one of before: told by the code that it stands in, not by its line number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from amplint.diagnostics import Diagnostic
from amplint.model.records import NamedTuple
from amplint.python_ast.definitions import around, definitions
from amplint.source import Source

ALIKE = 0.5
"""The share of lines that two files have in common at least, or of text two lines, if one has become the other."""


_MUCH_ALIKE = 0.75
"""The same of two lines in different functions."""


class PlacedFinding(NamedTuple):
    """A finding, and what it is known by: its file, the function it stands in, and its code.

    `row` is where the line stands, or would stand, in the file as it is afterwards; 0 for a line that is not there any more.
    `moved` is true where the other side of the file has no such function.
    """

    finding: Diagnostic
    file: str
    function: str
    text: str
    row: int
    moved: bool


def placed_before(
    findings: Iterable[Diagnostic], file: str, before: Source, after: Source | None
) -> Iterator[PlacedFinding]:
    """The findings of a file as it was, and what they are known by.

    Args:
        findings: those of the file.
        file: what the file is known by before and after.
        before: the file.
        after: what it has become; None where it is gone.
    """
    rows = _kept_rows(before, after) if after is not None else {}
    names = _functions(after)
    for finding in findings:
        function, code = _home_of(finding, before)
        row = rows.get(finding.range.start.row, 0)
        yield PlacedFinding(finding, file, function, code, row, function not in names)


def placed_after(
    findings: Iterable[Diagnostic], file: str, after: Source, before: Source | None
) -> Iterator[PlacedFinding]:
    """The findings of a file as it has become, and what they are known by.

    Args:
        findings: those of the file.
        file: what the file is known by before and after.
        after: the file.
        before: what it was; None where it was not there.
    """
    names = _functions(before)
    for finding in findings:
        function, code = _home_of(finding, after)
        yield PlacedFinding(finding, file, function, code, finding.range.start.row, function not in names)


def _functions(source: Source | None) -> set[str]:
    return set() if source is None else {"", *(one.name for one in definitions(source.text))}


def _home_of(finding: Diagnostic, source: Source) -> tuple[str, str]:
    """The function that a finding stands in, and its code without layout."""
    start, end = (position.row for position in finding.range)
    function = around(source.text, start)
    rows = range(start, min(end, len(source.line_starts)) + 1)
    return function.name if function else "", " ".join(" ".join(map(source.line, rows)).split())


def _kept_rows(before: Source, after: Source) -> dict[int, int]:
    """The rows of a file that stand in another one as well, and where."""
    old, new = ([each.line(row + 1) for row in range(len(each.line_starts))] for each in (before, after))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.a + n + 1: block.b + n + 1 for block in blocks for n in range(block.size)}


def still_found(old: Sequence[PlacedFinding], new: Sequence[PlacedFinding]) -> dict[Diagnostic, Diagnostic]:
    """The findings of before that are there afterwards, each with what it has become.

    Args:
        old: the findings of before.
        new: those of afterwards.
    """
    found: dict[Diagnostic, Diagnostic] = {}
    waiting, free = list(old), list(new)
    keys: tuple[Callable[[PlacedFinding], Hashable], ...] = (
        lambda one: (one.file, one.finding.code, one.row) if one.row else None,
        lambda one: (one.file, one.finding.code, one.function, one.text),
        lambda one: (one.finding.code, one.function, one.text) if one.moved else None,
    )
    for key in keys:
        by_key: dict[Hashable, list[PlacedFinding]] = {}
        for one in free:
            by_key.setdefault(key(one), []).append(one)
        by_key.pop(None, None)
        for one in list(waiting):
            alike = by_key.get(key(one))
            if alike:
                _pair(one, alike.pop(0), waiting, free, found)
    for one in list(waiting):
        near = {other: _likeness(one.text, other.text) for other in free if _may_be(one, other)}
        best = max(near, key=lambda other: near[other], default=None)
        if best is not None and near[best] >= (ALIKE if one.function == best.function else _MUCH_ALIKE):
            _pair(one, best, waiting, free, found)
    return found


def _may_be(one: PlacedFinding, other: PlacedFinding) -> bool:
    """Whether a finding may be what has become of one: in its function, or elsewhere in its file where its line is gone."""
    is_near = one.function == other.function or not one.row
    return (one.file, one.finding.code) == (other.file, other.finding.code) and is_near


def _pair(
    one: PlacedFinding,
    other: PlacedFinding,
    waiting: list[PlacedFinding],
    free: list[PlacedFinding],
    found: dict[Diagnostic, Diagnostic],
) -> None:
    found[one.finding] = other.finding
    waiting.remove(one)
    free.remove(other)


def _likeness(one: str, other: str) -> float:
    """The share of text that two lines have in common; never less than much where the whole of one stands in the other."""
    short, long = sorted((one, other), key=len)
    least = _MUCH_ALIKE if f" {short} " in f" {long} " else 0.0
    return max(least, SequenceMatcher(None, one, other, autojunk=False).ratio())


def renamed(gone: Mapping[str, str], come: Mapping[str, str]) -> dict[str, str]:
    """Files that were moved or renamed: each that is gone, with the new file that has at least half of its lines.

    Args:
        gone: the texts of the files that are gone, by their names.
        come: those of the files that were not there before.
    """
    found: dict[str, str] = {}
    for name, text in sorted(gone.items()):
        free = {other: come[other] for other in sorted(come) if other not in found.values()}
        shares = {other: common_lines(text, theirs) for other, theirs in free.items()}
        best = max(shares, key=lambda other: shares[other], default=None)
        if best is not None and shares[best] >= ALIKE:
            found[name] = best
    return found


def common_lines(one: str, other: str) -> float:
    """The share of lines that two texts have in common, whatever their order.

    Args:
        one: a text.
        other: another one.
    """
    mine, theirs = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (one, other))
    most = max(mine.total(), theirs.total())
    return (mine & theirs).total() / most if most else 0.0
