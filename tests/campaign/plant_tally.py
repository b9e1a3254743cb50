"""Many plants: how often rules and runs agree, for each rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings

from . import plants  # noqa: F401  # each module files its plants
from .judging import explain, findings, judge, shows
from .planting import SOWERS, Planted, planted

_ANSWERS = ("both", "neither", "only rule", "only runs", "limits", "not executed")


@dataclass
class PlantTally:
    """What a campaign has counted."""

    programs: int = 0
    runs: int = 0
    texts: set[str] = field(default_factory=set)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def add(self, program: Planted) -> None:
        """Examine one more program, unless it was drawn before."""
        if program.text in self.texts:
            return
        self.texts.add(program.text)
        found, shown = findings(program), shows(program)
        judged = judge(program, found, shown)
        if not judged.agrees:
            self.disagreements.append(explain(program, found, shown))
        self.programs += 1
        self.runs += len(shown)
        self.limits.update([judged.limit] if judged.limit else [])
        self.counts[program.code, judged.answer] += 1

    def lines(self) -> list[str]:
        """The table, as Markdown."""
        rows = [
            [code, "runs" if SOWERS[code].observed else "intent", *(str(self.counts[code, each]) for each in _ANSWERS)]
            for code in sorted(SOWERS)
        ]
        head = ["rule", "oracle", *_ANSWERS]
        return [
            f"{self.programs} programs with a plant, {self.runs} runs",
            "",
            *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)),
            "",
            *(f"- `{name}`: {count}" for name, count in sorted(self.limits.items())),
        ]


def examine_plants(number: int, count: int, tally: PlantTally, files: int = 1) -> bool:
    """Examine the programs that are drawn from one seed; whether rules and runs agree on all of them.

    Args:
        number: the seed.
        count: how many programs are drawn.
        tally: counts them.
        files: of how many files a program is.
    """
    before = len(tally.disagreements)

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(planted(files=files))
    def run(program: Planted) -> None:
        tally.add(program)

    run()
    return before == len(tally.disagreements)
