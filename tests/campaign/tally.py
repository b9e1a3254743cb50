"""Many programs: how often the witnesses agree, and on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings

from .agreement import examine, explain
from .grammar import programs
from .program import Program
from .static_witness import hazard_kinds

PIECE = 250
"""Programs that are drawn from one seed. Hypothesis draws variations of programs before: pieces begin afresh."""


class Disagreement(AssertionError):
    """The witnesses disagree on a program; the message says it all."""


@dataclass
class Tally:
    """What a campaign has counted."""

    programs: int = 0
    settings: int = 0
    cut_short: int = 0
    harmless: int = 0
    texts: set[str] = field(default_factory=set)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    reported: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def add(self, program: Program) -> None:
        """Examine one more program, unless it was drawn before."""
        if program.text in self.texts:
            return
        judged, reading, ran = examine(program)
        if not judged.agrees:
            self.disagreements.append(explain(program, reading, ran))
        self.programs += 1
        self.texts.add(program.text)
        self.settings += len(ran)
        self.cut_short += sum(bool(each.error) for each in ran)
        self.harmless += not reading.hazards and not any(each.hazards for each in ran)
        for answer in ANSWERS:
            counts = self.counts.setdefault(answer, Counter())
            counts.update(kind for kind, _ in getattr(judged, answer))
        self.reported.update(kind for kind, _ in judged.both & reading.reported)
        self.limits.update(judged.limits.values())

    def lines(self) -> list[str]:
        """The table, as Markdown."""
        head = ["hazard", *(answer.replace("_", " ") for answer in ANSWERS), "reported"]
        rows = [
            [kind, *(str(self.counts.get(answer, Counter())[kind]) for answer in ANSWERS), str(self.reported[kind])]
            for kind in sorted(hazard_kinds())
        ]
        return [
            f"{self.programs} programs, {self.settings} runs "
            f"({self.cut_short} ended by an error of torch's), {self.harmless} programs without any hazard",
            "",
            *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)),
            "",
            *(f"- `{name}`: {count}" for name, count in sorted(self.limits.items())),
        ]


ANSWERS = ("both", "only_static", "only_runtime", "limits", "unknown", "not_executed")


def examine_piece(number: int, count: int, tally: Tally) -> bool:
    """Examine the programs of one piece; whether the witnesses agree on all of them."""
    before = len(tally.disagreements)
    each_program(number, count, tally.add, (Phase.generate,))
    return before == len(tally.disagreements)


def smallest_disagreement(number: int, count: int) -> str:
    """The smallest program like the first of a piece on which the witnesses disagree, explained; empty if there is none."""
    try:
        each_program(number, count, must_agree, (Phase.generate, Phase.shrink))
    except Disagreement as found:
        return str(found)
    return ""


def must_agree(program: Program) -> None:
    """Ask both witnesses.

    Raises:
        Disagreement: they say different things.
    """
    judged, reading, ran = examine(program)
    if not judged.agrees:
        raise Disagreement(explain(program, reading, ran))


def each_program(number: int, count: int, act: Callable[[Program], object], phases: tuple[Phase, ...]) -> None:
    """Draw programs from one seed, and do something with each of them."""

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(programs())
    def run(program: Program) -> None:
        act(program)

    run()
