"""What was observed, in the order in which it happened. Nothing is judged while the program runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from amplint.model.events import Event
from amplint.model.protocol.contents import Value
from amplint.runtime.recording.call_sites import SourceLine

Make = Callable[[int], Event]
"""Makes an event, given its site."""


@dataclass
class Recorded:
    """An event that was observed: where, on which thread, and what was measured.

    `values` by name: "scale", "norm" (of true gradients where an optimizer steps), "nonfinite" (a count), "dtypes",
    "found_inf", "skipped", "lr", ... and "raised", the name of the exception that ended the call.
    """

    event: Event
    place: SourceLine
    thread: str
    values: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredFacts:
    """What a run has measured that the protocol would have to assume.

    `value` is the origin of a loss, `reached` the parameters (by id) whose gradients changed (None: any), `taken` whether a
    scaler's step was taken, `overflow` whether `unscale_` found one.
    """

    value: Value | None = None
    reached: frozenset[int] | None = None
    taken: bool = False
    overflow: bool = False


@dataclass(frozen=True)
class Move:
    """An event that took effect, on a thread (by its identity); `raised` says that the call did not get through."""

    recorded: Recorded
    facts: MeasuredFacts
    thread: int
    raised: bool


class Journal:
    """Files events under sites; may be used from several threads.

    `events` are in the order in which the calls began, `moves` in the order in which they took effect; `places` are the
    places of the sites.

    Args:
        follow: gets each move when it has taken effect; then neither events nor moves are kept, however long the run is.
    """

    def __init__(self, follow: Callable[[Move], None] | None = None) -> None:
        self._follow = follow
        self.events: list[Recorded] = []
        self.moves: list[Move] = []
        self.places: list[SourceLine] = []
        self._sites: dict[SourceLine, int] = {}
        self._lock = threading.Lock()

    @property
    def keeps(self) -> bool:
        """Whether events are kept, with all that is measured of them; else what nobody follows need not be measured."""
        return self._follow is None

    def file(self, place: SourceLine, make: Make) -> Recorded:
        """Write an event down.

        Args:
            place: the line that made the call.
            make: makes the event, given its site.
        """
        with self._lock:
            site = self._sites.setdefault(place, len(self.places))
            if site == len(self.places):
                self.places.append(place)
            recorded = Recorded(make(site), place, threading.current_thread().name)
            if self._follow is None:
                self.events.append(recorded)
            return recorded

    def conclude(self, recorded: Recorded, facts: MeasuredFacts = MeasuredFacts()) -> None:
        """Note that an event has taken effect, and what was measured.

        Args:
            recorded: the event.
            facts: what was measured.
        """
        move = Move(recorded, facts, threading.get_ident(), "raised" in recorded.values)
        if self._follow is None:
            self.moves.append(move)
        else:
            self._follow(move)
