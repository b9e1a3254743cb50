"""The events of functions that may call each other: each function is gone through once, whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from amplint.lowering.graph_tools import events_in
from amplint.model.event_graph import Call, Function, Jump
from amplint.model.events import Escape, Event, GradAccess


class FunctionEvents:
    """The events of some functions.

    Args:
        graphs: those of the functions, by key.
    """

    def __init__(self, graphs: Mapping[str, Function]) -> None:
        self.graphs = graphs
        self._events: dict[str, tuple[Event | Call | Jump, ...]] = {}

    def of(self, key: str) -> tuple[Event | Call | Jump, ...]:
        """All that happens in a function itself.

        Args:
            key: that of the function.
        """
        if key not in self._events:
            self._events[key] = tuple(events_in(self.graphs[key].body))
        return self._events[key]

    def called(self, key: str) -> set[str]:
        """The keys of the functions that a function calls.

        Args:
            key: that of the function.
        """
        return {each.function for each in self.of(key) if isinstance(each, Call)}

    def reached(self, key: str) -> Collection[str]:
        """The keys of a function and of all that its calls lead to.

        Args:
            key: that of the function.
        """
        found, waiting = {key}, [key]
        while waiting:
            called = self.called(waiting.pop())
            waiting += called - found
            found |= called
        return found

    @cached_property
    def writing(self) -> frozenset[str]:
        """The keys of the functions that write gradients."""
        written = (key for key in self.graphs if any(isinstance(e, GradAccess) and e.writes for e in self.of(key)))
        return frozenset(written)

    @cached_property
    def escapes(self) -> frozenset[int]:
        """The sites at which something gets hold of objects whose use is not known."""
        return frozenset(each.site for key in self.graphs for each in self.of(key) if isinstance(each, Escape))
