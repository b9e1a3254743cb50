"""Classes that override what the methods call which they inherit: in their objects, those call the overriding methods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from amplint.hazards.function_events import FunctionEvents
from amplint.lowering.graph_tools import events_in
from amplint.lowering.linked_graphs import linked
from amplint.lowering.program import Program
from amplint.model.event_graph import Call, Function, Seq
from amplint.model.events import Assign, Event, Leave
from amplint.model.records import changed
from amplint.syntax.classes import ClassInfo


class Heirs:
    """The classes of one file whose methods stand in the place of those of their bases.

    Args:
        program: the file.
        graphs: the graphs of all functions that tell.
        functions: the same, without calls of what does nothing.
    """

    def __init__(self, program: Program, graphs: Mapping[str, Function], functions: Mapping[str, Function]) -> None:
        self._program = program
        self._graphs = graphs
        self._functions = functions
        self._known: dict[tuple[ClassInfo, ...], Mapping[str, Function]] = {(): functions}

    @property
    def classes(self) -> list[ClassInfo]:
        """The classes whose overriding methods do anything, in source order."""
        return [*self._overridden]

    def with_overrides(self, classes: tuple[ClassInfo, ...]) -> Mapping[str, Function]:
        """All functions, as objects of some classes run them: with the overriding methods in place of the overridden ones.

        Args:
            classes: the classes.
        """
        if classes not in self._known:
            replaced = (each for info in classes for each in self._overridden[info].items())
            self._known[classes] = linked({**self._graphs, **dict(replaced)})
        return self._known[classes]

    def functions(self, key: str) -> Mapping[str, Function]:
        """All functions, as those objects run them whose methods a function enters.

        Where it enters methods of classes that override the same one in different ways, nothing is put in place.

        Args:
            key: that of the function.
        """
        if not self._overridden:
            return self._functions
        reached = set(self._linked.reached(key))
        own = self._program.classes.owner(self._program.definition(key))
        met = [info for info in self._overridden if info is own or not self._methods[info].isdisjoint(reached)]
        met = [info for info in met if not reached.isdisjoint(self._overridden[info])]
        last = [info for info in met if not any(info in other.lineage[1:] for other in met)]
        replaced = [each for info in last for each in self._overridden[info]]
        return self.with_overrides(tuple(last)) if len(replaced) == len({*replaced}) else self._functions

    @cached_property
    def _methods(self) -> dict[ClassInfo, set[str]]:
        """By class, the keys of its own methods."""
        return {info: {self._program.key(node) for node in info.methods.values()} for info in self._overridden}

    @cached_property
    def _linked(self) -> FunctionEvents:
        return FunctionEvents(self._functions)

    @cached_property
    def _inside(self) -> FunctionEvents:
        return FunctionEvents(self._graphs)

    @cached_property
    def _overridden(self) -> dict[ClassInfo, dict[str, Function]]:
        """By class, the graphs that stand for the methods of its bases, where they do anything."""
        replaced = {info: self._replaced(info) for info in self._program.classes.own}
        return {info: graphs for info, graphs in replaced.items() if any(map(_is_busy, graphs.values()))}

    def _replaced(self, info: ClassInfo) -> dict[str, Function]:
        """The graphs that stand for the methods of the bases in an instance of this class, but for those that `super()` calls."""
        replaced: dict[str, Function] = {}
        called_on: dict[str, set[str]] = {}
        for heir, base in zip(info.lineage, info.lineage[1:]):
            for name, node in heir.methods.items():
                if (key := self._program.key(node)) in self._graphs:
                    called_on.setdefault(name, set()).update(self._inside.called(key))
            for name, node in base.methods.items():
                own, key = info.methods.get(name), self._program.key(node)
                if own is not None and key not in called_on.get(name, ()):
                    replaced[key] = self._graphs[self._program.key(own)]
            inert = (self._program.key(base.methods[name]) for name in sorted(info.inert & base.methods.keys()))
            replaced.update((key, changed(self._graphs[key], body=Seq(()))) for key in inert if key in self._graphs)
        return replaced


def _is_busy(function: Function) -> bool:
    """Whether anything happens in a function but plain computation."""
    return any(
        isinstance(event, (Event, Call)) and not isinstance(event, (Assign, Leave))
        for event in events_in(function.body)
    )
