"""The table of mutation scores: what became of the repairs of each rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from amplint.runtime.verdict import CONFIRMED, ERROR, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, REFUTED, Outcome

from .attempts import Attempt

_SHOWN = (REFUTED, PARTLY, NOT_REPLAYABLE, NOT_OBSERVABLE, ERROR, CONFIRMED)
HEAD = "rule|wrong|refuted|partly|not replayable|not observable|error|confirmed|share refuted|right|refuted".split("|")


@dataclass
class Score:
    """How many repairs there were of each verdict, of those that are wrong and of those that are right."""

    wrong: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    def cells(self) -> list[str]:
        """The row of the table, but for the name of the rule. What is refuted partly counts as refuted."""
        told, total = self.wrong[REFUTED] + self.wrong[PARTLY], self.wrong.total()
        share = f"{told / total:.2f}" if total else ""
        counts = (total, *(self.wrong[verdict] for verdict in _SHOWN))
        return [*map(str, counts), share, str(self.right.total()), str(self.right[REFUTED])]


def score(judged: Iterable[tuple[Attempt, Outcome]]) -> dict[str, Score]:
    """Count repairs by rule, and all of them under "all".

    Args:
        judged: repairs, and what their replays came to.
    """
    found: dict[str, Score] = {}
    for attempt, outcome in judged:
        for name in (attempt.code, "all"):
            counted = found.setdefault(name, Score())
            (counted.right if attempt.right else counted.wrong)[outcome.verdict] += 1
    return found


def table(scores: Mapping[str, Score]) -> Iterator[str]:
    """The rows of a table in Markdown, one for each rule, and one for all."""
    for row in (HEAD, ["---"] * len(HEAD), *([code, *scores[code].cells()] for code in sorted(scores))):
        yield f"| {' | '.join(row)} |"
