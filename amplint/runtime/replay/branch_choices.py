"""What a replay answers to the conditions in the author's code, most of which it does not evaluate.

A condition is known by its key (`amplint.model.event_graph.Test`), so that the code after a fix gets the same answers as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from amplint.model import vocabulary
from amplint.model.event_graph import MOMENTS, Test

PERIOD = 2
"""Micro-batches of an accumulation whose number the author does not write down."""
_MAX_PERIOD = 16
_MAX_TRIES = 300
_MODULO = re.compile(r"Modulo\(\),([^()]*)\)( == )?")


@dataclass(frozen=True)
class Answer:
    """`truth` at every `period`-th time of asking, and the opposite at the others; a period of 1 is a constant."""

    truth: bool
    period: int = 1

    def at(self, count: int) -> bool:
        """The answer at the `count`-th time of asking, counted from 1."""
        return self.truth if count % self.period == 0 else not self.truth


YES, NO = Answer(True), Answer(False)


def answers(test: Test, away: bool | None) -> tuple[Answer, ...]:
    """The answers to try, the likeliest first. `away` is the side that leaves the loop or the function, if one does."""
    modulo = _MODULO.search(test.key)
    if modulo is not None and "len" in test.key:  # batches left over at the end
        return (YES, NO) if modulo[2] is not None else (NO, YES)
    if modulo is not None and test.kind in ("varying", "config", "gate", *MOMENTS):
        period = int(modulo[1]) if modulo[1].isdigit() and 1 < int(modulo[1]) <= _MAX_PERIOD else PERIOD
        return (Answer(modulo[2] is not None, period), YES, NO)
    if test.kind in ("gate", "skipped"):
        return (NO, YES) if vocabulary.TROUBLE.search(test.key) else (YES, NO)
    unlikely = away is True or test.kind == "unscaled" or ("len" in test.key and " == " in test.key)  # the last of all
    first, second = (NO, YES) if unlikely else (YES, NO)
    if test.kind in ("varying", "range", *MOMENTS):
        return first, Answer(True, PERIOD), Answer(False, PERIOD), second
    return first, second


@dataclass
class Decisions:
    """The answers of one replay: those that were chosen, and the likeliest one to any other condition.

    `evaluates` says whether such another one about a count is evaluated, unless it is one of `constant`, which come out in the
    same way all the time that is replayed; `evaluated` is what came out of each. `told` are conditions that were not decided
    here, as the loop around says how they come out.
    """

    chosen: Mapping[str, Answer] = field(default_factory=dict)
    evaluates: bool = False
    constant: frozenset[str] = frozenset()
    asked: dict[str, tuple[Answer, ...]] = field(default_factory=dict)
    evaluated: dict[str, set[bool]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)

    def decide(self, key: str, test: Test, away: bool | None, known: bool | None = None) -> bool:
        """The answer to a condition that comes up anew.

        Args:
            key: the condition, the same before a fix and after.
            test: what is asked.
            away: the side that leaves the loop or the function, if one does.
            known: its truth, if it is about a count.
        """
        if known is not None and self.evaluates and key not in self.chosen and key not in self.constant:
            self.evaluated.setdefault(key, set()).add(known)
            return known
        options = self.asked.setdefault(key, answers(test, away))
        self._counts[key] = self._counts.get(key, 0) + 1
        return self.chosen.get(key, options[0]).at(self._counts[key])

    def again(self) -> Decisions:
        """The same decisions for another run: whatever was asked is answered in the same way, also where code has moved."""
        chosen = {key: self.chosen.get(key, options[0]) for key, options in self.asked.items()}
        return Decisions(chosen, True, self.constant | self.unsettled)

    def but(self, key: str, answer: Answer) -> Decisions:
        """The same decisions for another run, with another answer to one condition.

        Args:
            key: the condition.
            answer: the other answer.
        """
        again = self.again()
        return replace(again, chosen={**again.chosen, key: answer})

    @property
    def unsettled(self) -> frozenset[str]:
        """The evaluated conditions that may yet come out in another way than they have."""
        return frozenset(key for key, truths in self.evaluated.items() if len(truths) == 1)


def search(leads_there: Callable[[Decisions], bool]) -> Decisions | None:
    """The decisions closest to the likeliest ones that lead somewhere; None when no small change of them does."""
    tried: set[frozenset[tuple[str, Answer]]] = set()
    waiting: list[dict[str, Answer]] = [{}]
    for chosen in waiting:  # grows while it is gone through
        if len(tried) >= _MAX_TRIES:
            return None
        decisions = Decisions(chosen)
        tried.add(frozenset(chosen.items()))
        if leads_there(decisions):
            return decisions
        waiting += [each for each in _changes(decisions) if frozenset(each.items()) not in tried]
    return None


def _changes(decisions: Decisions) -> Iterator[dict[str, Answer]]:
    """The decisions with one more answer changed."""
    for key, options in decisions.asked.items():
        if key not in decisions.chosen:
            for answer in options[1:]:
                yield {**decisions.chosen, key: answer}
