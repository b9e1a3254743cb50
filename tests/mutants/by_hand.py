"""Repairs that people have written down: wrong ones, and right ones in other words than amplint's, each with the reason.

`wrong/` and `right/` hold a file for each rule. A case begins with `== FIXTURE from fixed: REASON`, or `from before`: what it
changes is the text with amplint's own fix, or that with the finding. `FIXTURE:ROW` means the finding in that row.
What follows is a difference: rows with `-` go, rows with `+` come, and rows with a space stay. They are found by their text,
comments and indentation aside; `...` stands between places. FIXTURE is one of the rule's, or a program of `programs/`, which
are written for the cases alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from amplint.testing import fixtures_in

from .repaired import Repaired, flagged_fixtures, repaired_findings

FOLDER = Path(__file__).parent
WRONG, RIGHT, PROGRAMS = FOLDER / "wrong", FOLDER / "right", FOLDER / "programs"

_HEAD = re.compile(r"== (\S+?\.py)(?::(\d+))? from (fixed|before): (.+)")
_COMMENT = re.compile(r"(^|  )\s*# .*$")


class CaseError(Exception):
    """A case that is not understood, or does not fit its fixture; the message says which."""


@dataclass(frozen=True)
class Case:
    """A repair that somebody has written down, and what is wrong or right about it."""

    repaired: Repaired
    text: str
    reason: str

    @property
    def name(self) -> str:
        """The same from run to run, as long as nobody rewrites the case."""
        return f"{self.repaired.diagnostic.code} {self.repaired.name}: {self.reason}"


def cases(folder: Path, codes: Sequence[str]) -> Iterator[Case]:
    """The cases of some rules.

    Args:
        folder: `WRONG` or `RIGHT`.
        codes: the rules.

    Raises:
        CaseError: a case is not understood.
    """
    for path in sorted(folder.glob("*.txt")):
        code = path.stem.upper()
        if code not in codes:
            continue
        fixtures = {fixture.path.name: fixture for fixture in (*flagged_fixtures(code), *fixtures_in(PROGRAMS, code))}
        for block in re.split(r"\n(?=== )", path.read_text("utf-8").strip()):
            head, *rows = block.split("\n")
            match = _HEAD.fullmatch(head)
            if match is None:
                raise CaseError(f"{path.name}: {head!r} is not understood")
            file, row, base, reason = match.groups()
            findings = repaired_findings(fixtures[file]) if file in fixtures else []
            found = [one for one in findings if not row or one.name == f"{file}:{row}"]
            if not found:
                raise CaseError(f"{path.name}: {file} has no such finding with a fix")
            text = found[0].text if base == "fixed" else found[0].fixture.source.text
            yield Case(found[0], _changed(text, rows, f"{path.name}: {reason}"), reason)


def _changed(text: str, rows: Sequence[str], name: str) -> str:
    lines = text.split("\n")
    at = 0
    for hunk in "\n".join(rows).split("\n...\n"):
        marked = hunk.split("\n")
        old = [line[1:] for line in marked if line[0:1] in (" ", "-")]
        new = [line[1:] for line in marked if line[0:1] in (" ", "+")]
        code = [row for row in range(at, len(lines)) if _COMMENT.sub("", lines[row]).strip()]
        windows = (code[start : start + len(old)] for start in range(len(code)))
        place = next((each for each in windows if _shape([lines[row] for row in each]) == _shape(old)), [])
        if not place:
            raise CaseError(f"{name}: not found: {old}")
        start, end = place[0], place[-1] + 1
        indent = " " * (_column(lines[start]) - _column(old[0]))
        lines[start:end] = [indent + line if line.strip() else line for line in new]
        at = start + len(new)
    return "\n".join(lines)


def _shape(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Lines without comments, and how far each is indented, compared with the first."""
    return [(_column(line) - _column(lines[0]), _COMMENT.sub("", line).strip()) for line in lines]


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
