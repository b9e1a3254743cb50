"""What a measurement is: figures of three runs, and when a figure is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol as Interface

from amplint.model.events import Event
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.training.run_record import RunRecord
from amplint.runtime.verdict import NOT_REPLAYABLE, Axis, Outcome

NONE = "none"
"""Stands in a figure for what there was not."""


@dataclass(frozen=True)
class Trio:
    """The records of three runs: with the code as it stands, with the fix, and of the reference."""

    before: RunRecord
    after: RunRecord
    reference: RunRecord

    def each(self, value: Callable[[RunRecord], float | str]) -> tuple[float | str, ...]:
        """One value of each record."""
        return value(self.before), value(self.after), value(self.reference)


class Player(Interface):
    """Runs the three."""

    @property
    def events(self) -> Sequence[Event]:
        """What happens with the code as it stands."""

    @property
    def unit(self) -> float:
        """The unit of gradients, in which the limits of the author's clips bind."""

    def play(
        self,
        magnitude: float = 1.0,
        island: bool = False,
        spared: str = "",
        recheck: bool = False,
        everywhere: bool = False,
    ) -> Trio:
        """Train, and look at what becomes of it.

        Args:
            magnitude: about how large the losses are.
            island: whether the model runs a part of itself in float32.
            spared: the optimizer whose gradients do not overflow, when all others do; empty: only those that the finding is
                about do.
            recheck: whether no gradients overflow, and each loss is computed once more outside of autocast.
            everywhere: whether the gradients of all optimizers overflow; of none, where nothing is scaled.
        """


@dataclass(frozen=True)
class Figure:
    """A measured value: with the code as it stands, with the fix, and what is right."""

    name: str
    before: float | str
    after: float | str
    reference: float | str

    def observation(self, tolerance: float) -> Observation:
        """Whether the defect shows in it.

        Args:
            tolerance: how far a value may be from the reference, relative to it.
        """
        before, after = (agree(each, self.reference, tolerance) for each in (self.before, self.after))
        return Observation(Question.GONE, self.name, before, after, same=agree(self.after, self.before, tolerance))


@dataclass(frozen=True)
class Measurement:
    """Figures, the deciding one first; `given` are literals of the author that they depend on; `series` go over `axis`.

    `beyond` are the changed statements that what was run does not speak of; None where it stands for amplint's own fix alone.
    """

    figures: tuple[Figure, ...]
    given: Mapping[str, float | str] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    axis: Axis | None = None
    ordinary: bool = True
    """Whether at least one ordinary step was taken as it should be, so that agreement means something."""
    beyond: tuple[str, ...] | None = None
    assumed: tuple[str, ...] = ()
    """What the code does not give, and what it was taken to be, in words."""
    others: tuple[str, ...] = ()
    """The kinds of other defects that are there before the fix and after it, and show in the same figures."""

    def observations(self, tolerance: float) -> list[Observation]:
        """Whether the defect shows in each figure; none where no agreement would mean anything.

        Args:
            tolerance: how far a value may be from the reference, relative to it.
        """
        return [each.observation(tolerance) for each in self.figures] if self.ordinary else []

    def shown(self, measure: str, basis: str) -> Outcome:
        """What is shown of it, without a verdict.

        Args:
            measure: what was measured, where there is no figure.
            basis: as in `amplint.runtime.verdict.Outcome`.
        """
        names = [each.name for each in self.figures]
        return Outcome(
            NOT_REPLAYABLE,
            "" if self.ordinary else "no step was taken from which to judge",
            names[0] if names else measure,
            {each.name: each.before for each in self.figures},
            {each.name: each.after for each in self.figures},
            {**{each.name: each.reference for each in self.figures}, **self.given},
            self.series,
            self.axis,
            basis=basis,
            assumed=self.assumed,
        )


def agree(measured: float | str, reference: float | str, tolerance: float) -> bool:
    """Whether a measured value is the reference, up to a tolerance relative to it (absolute where it is zero).

    Args:
        measured: what was measured.
        reference: what it should be.
        tolerance: relative to the reference, absolute where that is zero.
    """
    if isinstance(measured, str) or isinstance(reference, str):
        return measured == reference
    if not (math.isfinite(measured) and math.isfinite(reference)):
        return measured == reference or (math.isnan(measured) and math.isnan(reference))
    return abs(measured - reference) <= tolerance * (abs(reference) or 1.0)
