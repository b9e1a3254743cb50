"""By which limits gradients are clipped in a replay: those of the code, in a unit in which they bind."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.model.events import Clip, Event
from amplint.model.literals import number

ASSUMED_LIMIT = 1.0
"""The threshold of a clip whose author does not write it down."""

_NORM, _ELEMENT = 0.5, 0.05
"""What the norm of the gradients of a net stays above, and their largest element."""


def by_value(clip: Clip) -> bool:
    """Whether each element is clipped for itself: a clip by hand, too, if its limit is a number and no coefficient."""
    return clip.by == "value" or (clip.by == "hand" and number(clip.limit) is not None)


def clip_unit(path: Iterable[Event]) -> float | None:
    """The unit in which all limits of the clips on a path bind; None without a clip."""
    units = [
        min(1.0, (_ELEMENT if by_value(event) else _NORM) / limit)
        for event in path
        if isinstance(event, Clip) and (limit := number(event.limit) or ASSUMED_LIMIT) > 0
    ]
    return min(units, default=None)
