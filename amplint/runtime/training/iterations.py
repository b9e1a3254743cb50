"""Which training iteration an event belongs to, for each optimizer."""

from __future__ import annotations

from amplint.model.events import Backward, Event, OptimizerStep, ScalerStep


class Rounds:
    """Counts the iterations of each optimizer: a backward pass after a step begins the next one."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._stepped: set[str] = set()
        self.idle = 0
        """The backward passes since an optimizer was stepped."""

    def on(self, event: Event) -> None:
        """Take note of an event that is about to happen."""
        if isinstance(event, Backward):
            self.idle += 1
            for optimizer in self._stepped:
                self._of[optimizer] += 1
            self._stepped.clear()
        elif isinstance(event, (OptimizerStep, ScalerStep)):
            self.idle = 0
            self._of.setdefault(event.optimizer, 0)
            self._stepped.add(event.optimizer)

    def of(self, optimizer: str) -> int:
        """The iteration in which an optimizer is, counted from 0."""
        return self._of.get(optimizer, 0)

    def coming_of(self, optimizer: str) -> int:
        """The iteration of an optimizer to which a loss that is computed now will belong."""
        return self.of(optimizer) + (optimizer in self._stepped)

    @property
    def coming(self) -> int:
        """The same for the optimizer that is furthest."""
        return max(map(self.coming_of, self._of), default=0)
