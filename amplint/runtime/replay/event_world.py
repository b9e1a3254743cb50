"""Where the events of a path happen: the interface of a world, and the one in which nothing does."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol as Interface

from amplint.model.event_graph import Test
from amplint.model.events import Event, Region


class World(Interface):
    """Where events happen."""

    def do(self, event: Event) -> None:
        """Make an event happen."""

    def region(self, region: Region) -> AbstractContextManager[object]:
        """The context of an autocast or no-grad region."""

    def has_skipped(self, test: Test) -> bool:
        """Whether the scale that a condition asks about fell."""


class Idle:
    """A world in which nothing happens: it shows where a path leads."""

    def do(self, event: Event) -> None:
        """Nothing."""

    def region(self, region: Region) -> AbstractContextManager[object]:
        """No context."""
        return nullcontext()

    def has_skipped(self, test: Test) -> bool:
        """No step was skipped."""
        return False
