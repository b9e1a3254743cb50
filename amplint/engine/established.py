"""What the files of a run establish, and for which of them it counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from amplint.diagnostics import UNSCALES, FileReport, deciding
from amplint.engine.registry import rule_index
from amplint.facts.driving_facts import OF_A_PROJECT, is_about, repetition


class Established:
    """The facts of a run.

    Most of them count for all its files: they say what they are about. Those that rules await in order to guess what nobody can
    see count for the project of the file that establishes them: how one is trained says nothing about another. So does that
    somebody unscales for others.

    Args:
        reports: those on all files.
        projects: the project of each file; one for all where there are none.
    """

    def __init__(self, reports: Sequence[FileReport], projects: Sequence[Hashable] = ()) -> None:
        self._projects = projects or [None] * len(reports)
        self._awaited = awaited = frozenset(rule.awaits for rule in rule_index() if rule.awaits) | {UNSCALES}
        self._everywhere = frozenset[str]()
        self._within: dict[Hashable, frozenset[str]] = {}
        for project, report in zip(self._projects, reports):
            self._everywhere |= {fact for fact in report.facts if not is_about(fact, awaited)}
            self._within[project] = self._within.get(project, frozenset()) | report.facts

    def of(self, position: int) -> frozenset[str]:
        """What counts for the file at a position of the run."""
        return self._everywhere | self._within[self._projects[position]]

    def add(self, facts: Iterable[str]) -> None:
        """Learn what files beside the run establish for the projects of those in it.

        Where one of those was stated that any file may state is left out: it is that of whichever file was asked first.
        """
        anybodys = self._awaited | OF_A_PROJECT
        self._everywhere |= {fact for fact in facts if fact in anybodys or not is_about(fact, anybodys)}

    def missing(self, reports: Sequence[FileReport]) -> frozenset[str]:
        """The facts that decide about findings, and that nobody has established for their files.

        Args:
            reports: those on all files as they are now.
        """
        wanting = ((position, each.needs) for position, report in enumerate(reports) for each in report.diagnostics)
        missing = (fact for position, needs in wanting if needs for fact in deciding(needs) - self.of(position))
        return frozenset(fact for fact in missing if repetition(fact) is None)  # of those no file says anything
