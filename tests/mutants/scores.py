"""The table of mutation scores: what became of the mutants of each rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from amplint.runtime.verdict import CONFIRMED, ERROR, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, REFUTED, Outcome

from .attempts import Attempt


@dataclass
class Score:
    """What became of the mutants of one rule: how many there were, and of each verdict."""

    same: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    right_refuted: int = 0

    def add(self, outcome: Outcome, same: bool) -> None:
        """Count one.

        Args:
            outcome: what its replay came to.
            same: whether the mutant is known to be a right repair.
        """
        if same:
            self.same += 1
            self.right_refuted += outcome.verdict == REFUTED
        else:
            self.verdicts[outcome.verdict] = self.verdicts.get(outcome.verdict, 0) + 1

    @property
    def wrong(self) -> int:
        """The mutants that are wrong repairs."""
        return sum(self.verdicts.values())

    def cells(self) -> list[str]:
        """The row of the table, but for the name of the rule."""
        count = self.verdicts.get
        told = count(REFUTED, 0) + count(PARTLY, 0)
        share = f"{told / self.wrong:.2f}" if self.wrong else ""
        names = (REFUTED, PARTLY, NOT_REPLAYABLE, NOT_OBSERVABLE, ERROR, CONFIRMED)
        return [str(self.wrong + self.same), str(self.same), *(str(count(name, 0)) for name in names), share]

    def __add__(self, other: Score) -> Score:
        verdicts = {
            name: self.verdicts.get(name, 0) + other.verdicts.get(name, 0)
            for name in {**self.verdicts, **other.verdicts}
        }
        return Score(self.same + other.same, verdicts, self.right_refuted + other.right_refuted)


HEAD = "rule|mutants|right all the same|refuted|partly|not replayable|not observable|error|confirmed|told".split("|")


def score(judged: Iterable[tuple[Attempt, Outcome]]) -> dict[str, Score]:
    """Count repairs by rule.

    Args:
        judged: repairs, and what their replays came to.
    """
    found: dict[str, Score] = {}
    for attempt, outcome in judged:
        found.setdefault(attempt.code, Score()).add(outcome, attempt.right)
    return found


def table(scores: Mapping[str, Score]) -> Iterator[str]:
    """The rows of a table in Markdown, one for each rule, and one for all."""
    rows = [[code, *scores[code].cells()] for code in sorted(scores)]
    total = ["all", *sum(scores.values(), Score()).cells()]
    for row in (HEAD, ["---"] * len(HEAD), *rows, total):
        yield f"| {' | '.join(row)} |"
