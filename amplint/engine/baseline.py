"""A baseline: the findings that a team knows and lives with for now, so that only what is new is reported.

A finding is known by its file, its code, its line without layout, and what stands around the line, never by its number: code
may move. Where one of several equal lines was known, its surroundings say which; where nothing else is left, the line decides.
The file is JSON with a finding in each line, sorted, so that its differences are those of the findings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from amplint.diagnostics import Diagnostic
from amplint.model.records import NamedTuple
from amplint.source import Source

LIMIT = 2**26
"""Bytes that a baseline may have."""
_VERSION = 1
_LONGEST = 200
"""Characters of a line that are written down; of a longer one, its digest stands for the rest."""
_DIGITS = 8


class BaselineError(Exception):
    """A text is no baseline; the message says why, in half a sentence."""


class KnownFinding(NamedTuple):
    """What a finding is known by in its file: `line` is without layout, `around` the digest of the lines beside it."""

    code: str
    line: str
    around: str


Baseline = dict[str, Counter[KnownFinding]]
"""How often each finding is known, by the file: its path, with slashes, seen from the folder of the baseline."""


def known_by(finding: Diagnostic, source: Source) -> KnownFinding:
    """What a finding is known by.

    Args:
        finding: the finding.
        source: the file that it is in.
    """
    row = finding.range.start.row
    around = f"{_beside(source, row, -1)}\n{_beside(source, row, 1)}"
    return KnownFinding(finding.code, _shortened(_plain(source, row)), _digest(around))


class Sorted(NamedTuple):
    """The findings of a file that are not known, in order; what is known and was not found; what was found of other files."""

    unknown: list[Diagnostic]
    left: Counter[KnownFinding]
    moved: Counter[KnownFinding]


def sort_out(
    findings: Iterable[tuple[Diagnostic, KnownFinding]], known: Counter[KnownFinding], gone: Counter[KnownFinding]
) -> Sorted:
    """Tell known findings from new ones.

    Args:
        findings: those of a file, each with what it is known by.
        known: how often each is known in the file.
        gone: those of files that are no longer there: the file may be one of them under another name.
    """
    waiting, left = _without(list(findings), known, lambda entry: entry)
    waiting, left = _without(waiting, left, lambda entry: (entry.code, entry.line))
    waiting, not_moved = _without(waiting, gone, lambda entry: entry)
    return Sorted([finding for finding, _ in waiting], left, gone - not_moved)


def _without(
    findings: list[tuple[Diagnostic, KnownFinding]],
    known: Counter[KnownFinding],
    same: Callable[[KnownFinding], Hashable],
) -> tuple[list[tuple[Diagnostic, KnownFinding]], Counter[KnownFinding]]:
    """The findings that are not among the known ones, and the known ones that are not among them."""
    free: dict[Hashable, list[KnownFinding]] = {}
    for entry in known.elements():
        free.setdefault(same(entry), []).append(entry)
    rest = []
    for finding, entry in findings:
        alike = free.get(same(entry))
        if alike:
            alike.pop()
        else:
            rest.append((finding, entry))
    return rest, Counter(entry for entries in free.values() for entry in entries)


def read_baseline(data: bytes) -> Baseline:
    """The baseline that a file holds.

    Raises:
        BaselineError: it holds none.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        marks = b"\n<<<<<<< " in b"\n" + data
        raise BaselineError("holds the marks of a merge conflict" if marks else "is no JSON") from error
    if not is_baseline(document):
        raise BaselineError("is JSON, but no baseline of amplint")
    if document["amplint-baseline"] != _VERSION:
        raise BaselineError("was written by another version of amplint: write it anew with `--update-baseline`")
    try:
        return {path: _entries(entries) for path, entries in document["findings"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BaselineError("holds what is no finding of a baseline") from error


def is_baseline(document: Any) -> bool:
    """Whether a JSON document is a baseline, of whatever version."""
    return isinstance(document, dict) and "amplint-baseline" in document


def _entries(entries: Any) -> Counter[KnownFinding]:
    found: Counter[KnownFinding] = Counter()
    for entry in entries:
        words = [entry[key] for key in KnownFinding._fields]
        times = entry.get("count", 1)
        if not all(isinstance(word, str) for word in words) or not isinstance(times, int) or times < 1:
            raise ValueError
        found[KnownFinding(*words)] += times
    return found


def written(baseline: Mapping[str, Counter[KnownFinding]]) -> str:
    """The text of a baseline."""
    files = [(path, entries) for path, entries in sorted(baseline.items()) if entries]
    lines = (f"    {json.dumps(path)}: [\n" + ",\n".join(_lines(entries)) + "\n    ]" for path, entries in files)
    body = ",\n".join(lines)
    findings = f"{{\n{body}\n  }}" if files else "{}"
    return f'{{\n  "amplint-baseline": {_VERSION},\n  "findings": {findings}\n}}\n'


def _lines(entries: Counter[KnownFinding]) -> Iterator[str]:
    for entry, times in sorted(entries.items()):
        yield "      " + json.dumps(entry._asdict() | ({"count": times} if times > 1 else {}))


def _plain(source: Source, row: int) -> str:
    """A line without its layout."""
    return " ".join(source.line(row).split())


def _beside(source: Source, row: int, step: int) -> str:
    """The nearest line with something in it, before a line or after it; empty where there is none."""
    row += step
    while 1 <= row <= len(source.line_starts):
        line = _plain(source, row)
        if line:
            return line
        row += step
    return ""


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}... {_digest(line)}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
