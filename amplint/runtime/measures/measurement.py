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
        """Train on losses of some magnitude, with or without a part that the model runs in float32.

        The gradients of the optimizer that the finding is about overflow once; or those of all but the one that is spared.
        With `recheck` none does, and each loss is computed once more outside of autocast.
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
    """Whether a measured value is the reference, up to a tolerance relative to it (absolute where it is zero)."""
    if isinstance(measured, str) or isinstance(reference, str):
        return measured == reference
    if not (math.isfinite(measured) and math.isfinite(reference)):
        return measured == reference
    return abs(measured - reference) <= tolerance * (abs(reference) or 1.0)
