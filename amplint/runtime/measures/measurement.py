"""What a measurement is: figures of three runs, and when a figure is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol as Interface

from amplint.model.events import Event
from amplint.runtime.training.run_record import RunRecord
from amplint.runtime.verdict import Axis

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

    def play(self, magnitude: float = 1.0, island: bool = False, spared: str = "", recheck: bool = False) -> Trio:
        """Train, and look at what becomes of it.

        Args:
            magnitude: about how large the losses are.
            island: whether the model runs a part of itself in float32.
            spared: the optimizer whose gradients do not overflow, when all others do; empty: only those that the finding is
                about do.
            recheck: whether no gradients overflow, and each loss is computed once more outside of autocast.
        """


@dataclass(frozen=True)
class Figure:
    """A measured value: with the code as it stands, with the fix, and what is right."""

    name: str
    before: float | str
    after: float | str
    reference: float | str


@dataclass(frozen=True)
class Measurement:
    """Figures, the deciding one first; `given` are literals of the author that they depend on; `series` go over `axis`."""

    figures: tuple[Figure, ...]
    given: Mapping[str, float | str] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    axis: Axis | None = None
    ordinary: bool = True
    """Whether at least one ordinary step was taken as it should be, so that agreement means something."""


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
        return measured == reference
    return abs(measured - reference) <= tolerance * (abs(reference) or 1.0)
