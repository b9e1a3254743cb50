"""What the static witness says about a program: amplint itself. It needs no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amplint.diagnostics import FileReport
from amplint.engine.checker import withdraw
from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.engine.runner import RunOptions, run
from amplint.hazards.analysis import GAVE_UP
from amplint.lowering.graph_tools import events_in
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, INFO, File, Finding, Rule, rule
from amplint.source import Source

from .program import Part, Program

FILE = "program.py"
_SEEN_AT = {"exit-between-unscale-and-update": "unscaled"}
"""Hazards that stand at a statement, with the label of the call at which the recorder tells them."""
Spot = tuple[str, int]
"""A kind of hazard, and the line where it stands."""


@dataclass(frozen=True)
class Reading:
    """What the static witness says: hazards, what the rules report of them, and whether it gave up somewhere."""

    needs: Mapping[Spot, Counter[int]]
    """The hazards, each with the lines that have to be executed for it to happen, and how often: its own, and those of its
    other half."""
    reported: frozenset[Spot]
    gave_up: bool
    events: frozenset[str]
    """The kinds of event that the program has anywhere."""

    @property
    def hazards(self) -> frozenset[Spot]:
        """The hazards."""
        return frozenset(self.needs)


@lru_cache(maxsize=1)
def hazard_kinds() -> frozenset[str]:
    """The kinds of hazard that the protocol machine knows, by the names of their rules."""
    return frozenset(kind.value for kind in HazardKind)


@lru_cache(maxsize=1)
def _rules() -> tuple[Any, ...]:
    return tuple(rule for rule in load_rules() if rule.name in hazard_kinds())


def said(program: Program, rules: Sequence[Rule]) -> Iterator[Spot]:
    """What rules report, by their codes: of a file alone, or of a project.

    Raises:
        AssertionError: the linter has an internal error, or cannot parse the program.
    """
    with TemporaryDirectory() as folder:
        for part, report in _reports(program, rules, Path(folder).resolve()):
            assert not report.error, report.error
            for each in report.diagnostics:
                yield each.code, part.above + each.range.start.row


def _reports(program: Program, rules: Sequence[Rule], folder: Path) -> Iterator[tuple[Part, FileReport]]:
    parts = {f"{part.name}.py": part for part in program.parts}
    if len(parts) == 1:
        (part,) = parts.values()
        report = lint_source(Source(FILE, part.text), rules)
        yield part, withdraw(report, report.facts)
        return
    (folder / "pyproject.toml").write_text("[tool.amplint]\n")
    for name, part in parts.items():
        (folder / name).write_text(part.text, encoding="utf-8")
    resolver = SettingsResolver(Overrides(select=tuple(each.code for each in rules)))
    files = [each for each in discover([str(folder)], resolver) if isinstance(each, FoundFile)]
    for found, report in zip(files, run(files, RunOptions(1, no_cache=True))):
        yield parts[found.path.name], report


class _Seen:
    """What the analysis of a file tells, noted while the file is linted: afterwards the linter lets go of it."""

    def __init__(self) -> None:
        self.needs: dict[Spot, Counter[int]] = {}
        self.places: dict[Spot, Spot] = {}
        self.gave_up = False
        self.events: set[str] = set()

    def look(self, file: File) -> None:
        """Note the hazards of a file, and which events its graphs hold."""
        for each in file.analysis.hazards:
            kind = each.hazard.kind
            met = {label: file.range(node).start.row for label, node in each.related.items()}
            row = file.range(each.node).start.row
            # The recorder sees no statements: it knows that an iteration was left by what was done before.
            spot = (kind, met[_SEEN_AT[kind]] if kind in _SEEN_AT else row)
            self.places[kind, row] = spot
            self.needs[spot] = Counter(met.values()) if kind in _SEEN_AT else Counter((row, *met.values()))
        self.gave_up |= any(each.how == GAVE_UP for each in file.analysis.partly)
        for graph in file.analysis.functions.values():
            self.events.update(type(event).__name__ for event in events_in(graph.body))


def read(program: Program) -> Reading:
    """Lint a program.

    Raises:
        AssertionError: the linter has an internal error, or cannot parse the program.
    """
    seen = _Seen()

    def look(file: File) -> Iterator[Finding]:
        seen.look(file)
        return iter(())

    witness = rule("AMP999", "witness", INFO, HIGH, "0.1.0")(look)
    report = lint_source(Source(FILE, program.text), (*_rules(), witness))
    report = withdraw(report, report.facts)
    assert not report.error, report.error
    said_at = ((each.name, each.range.start.row) for each in report.diagnostics)
    reported = frozenset(seen.places.get(spot, spot) for spot in said_at)
    return Reading(seen.needs, reported, seen.gave_up, frozenset(seen.events))
