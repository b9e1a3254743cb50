"""Schedules that advance while their optimizer stands still."""

from __future__ import annotations

from collections import Counter

from amplint.model.events import Backward, OptimizerStep, ScalerStep, SchedulerStep
from amplint.runtime.recording.event_log import Move
from amplint.runtime.recording.object_names import ObjectNames
from amplint.tracing.trace_record import ScheduleAhead


class ScheduleLog:
    """Counts the advances for which there were gradients, and no step that was taken.

    Args:
        objects: the names of the objects that the moves speak of.
    """

    def __init__(self, objects: ObjectNames) -> None:
        self._objects = objects
        self._with_gradients: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._before: dict[str, tuple[int, int]] = {}
        self._found: dict[str, ScheduleAhead] = {}

    def follow(self, move: Move) -> None:
        """Take the next move."""
        match move.recorded.event:
            case Backward():
                reached = move.facts.reached or frozenset()
                members = self._objects.members()
                self._with_gradients.update(name for name in members if not reached.isdisjoint(members[name]))
            case ScalerStep(optimizer=name) | OptimizerStep(optimizer=name):
                self._with_gradients[name] += 1
                self._taken[name] += not move.recorded.values.get("skipped")
            case SchedulerStep(scheduler=name):
                self._advance(name, str(move.recorded.place))

    def told(self) -> list[ScheduleAhead]:
        """The schedules that are ahead of optimizers which do step."""
        return [
            one
            for name, one in self._found.items()
            if one.ahead and any(self._taken[optimizer] for optimizer in self._objects.objects[name].owners)
        ]

    def _advance(self, name: str, place: str) -> None:
        owners = self._objects.objects[name].owners
        now = sum(self._with_gradients[one] for one in owners), sum(self._taken[one] for one in owners)
        before = self._before.get(name, (0, 0))
        self._before[name] = now
        stood_still = now[0] > before[0] and now[1] == before[1]
        known = self._found.get(name)
        advances, ahead = (known.advances, known.ahead) if known is not None else (0, 0)
        self._found[name] = ScheduleAhead(place, advances + 1, ahead + stood_still)
