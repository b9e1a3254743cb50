"""A hazard in its file, and what happens around it: all that a rule asks about a hazard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeVar, cast

import libcst as cst

from amplint.hazards.entry_points import Entry
from amplint.lowering.program import Program
from amplint.model.events import GLOBAL, Event, ObjectFacts, Scale, ScalerStep, ScalerUpdate, Unscale
from amplint.model.exploration.written_explorations import Exploration
from amplint.model.protocol.hazard import RAISES, Hazard, HazardKind
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of

_Event = TypeVar("_Event", bound=Event)


class ShownPaths:
    """What the paths of one entry have shown; what several hazards ask is looked up once.

    Args:
        exploration: what they have shown.
    """

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._events: dict[tuple[type[Event], ...], list[Event]] = {}

    def events(self, kinds: tuple[type[Event], ...]) -> list[Event]:
        """The events of some kinds that have a place, in source order."""
        if kinds not in self._events:
            found = (event for event in self._exploration.events if isinstance(event, kinds) and event.site >= 0)
            self._events[kinds] = sorted(found, key=lambda event: (event.site, repr(event)))
        return self._events[kinds]

    @cached_property
    def raising(self) -> frozenset[tuple[HazardKind, int]]:
        """The hazards about which PyTorch raises something on some path, by kind and site."""
        return frozenset((each.kind, each.site) for each in self._exploration.hazards if RAISES in each.details)


@frozen
class Found:
    """A hazard in a file: with the node it stands at, and the nodes of the other half by label."""

    hazard: Hazard
    node: cst.CSTNode
    related: Mapping[str, cst.CSTNode]
    shown: ShownPaths
    scaler: ObjectFacts
    entry: Entry
    program: Program = field(compare=False, repr=False)
    origin: cst.CSTNode | None = None
    """Where it happens, when that is in another file: `node` is the call that leads there, or the other half."""
    here: bool = True
    """Whether the nodes of the other half are all in this file, where a fix can reach them."""

    @property
    def whole(self) -> bool:
        """Whether both halves are in this file."""
        return self.here and self.origin is None

    @property
    def is_half(self) -> bool:
        """Whether no call of this file leads to where it happens: an inherited method does it, and `node` is the other half."""
        return self.origin is not None and any(node is self.node for node in self.related.values())

    @property
    def act(self) -> cst.CSTNode:
        """What the author does wrong: where it happens, or the call in this file that leads there."""
        return self.origin if self.is_half and self.origin is not None else self.node

    @property
    def silent(self) -> bool:
        """Whether PyTorch raises nothing about it on any of its paths."""
        return (self.hazard.kind, self.hazard.site) not in self.shown.raising

    @property
    def function(self) -> cst.CSTNode:
        """The function, or the module, whose paths showed it."""
        return self.program.places[self.entry.function.site]

    @property
    def reported(self) -> list[cst.BaseExpression]:
        """What may be the loss, where the hazard is that a loss is read out."""
        return self.program.reports.found.get(self.node, [])

    @property
    def scaler_name(self) -> str:
        """The scaler as the author of this file writes it: also `state["scaler"]`, `amp_state.scaler` of another module, and a
        property or a method that gives it back."""
        name = self.hazard.scaler_name
        abroad = ":" in self.hazard.scaler.removeprefix(GLOBAL)
        calls = self.calls(Scale, Unscale, ScalerStep, ScalerUpdate)
        receivers = [call.func.value for call in calls if isinstance(call.func, cst.Attribute)]
        mine = [each for each in receivers if self.program.tree.root(each) is self.program.tree.module]
        if not (abroad or "[" in name):
            mine = [each for each in mine if self.program.getters.behind(each) is not None]
        fits = [each for each in mine if abroad or path_of(each) == name or self._is_at_home(each)]
        return next(map(self.program.tree.text, fits or (mine if "[" in name else ())), name)

    def events(self, *kinds: type[_Event]) -> list[tuple[_Event, cst.CSTNode]]:
        """The events of some kinds on the paths that showed the hazard, each with its place, in source order."""
        return [(cast(_Event, event), self.program.places[event.site]) for event in self.shown.events(kinds)]

    def at_home(self, *kinds: type[Event]) -> list[cst.CSTNode]:
        """The places of such events in the function in which the hazard stands."""
        nodes = dict.fromkeys(node for _, node in self.events(*kinds))
        return [node for node in nodes if self._is_at_home(node)]

    def calls(self, *kinds: type[Event]) -> list[cst.Call]:
        """The calls for such events that concern the hazard's scaler, anywhere on its paths."""
        mine = [node for event, node in self.events(*kinds) if getattr(event, "scaler", "") == self.hazard.scaler]
        return [node for node in dict.fromkeys(mine) if isinstance(node, cst.Call)]

    def calls_at_home(self, kind: type[Event]) -> list[cst.Call]:
        """The calls of one kind for the hazard's scaler, and optimizer if it is known, in the hazard's own function."""
        wanted = self.hazard.scaler, self.hazard.optimizer
        mine = [
            node
            for event, node in self.events(kind)
            if (getattr(event, "scaler", wanted[0]), getattr(event, "optimizer", wanted[1])) == wanted
        ]
        here = (node for node in dict.fromkeys(mine) if self._is_at_home(node))
        return [node for node in here if isinstance(node, cst.Call)]

    def _is_at_home(self, node: cst.CSTNode) -> bool:
        return self.program.tree.function(node) is self.program.tree.function(self.node)
