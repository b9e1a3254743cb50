"""Hazards in other files: each belongs to the call of this file that reaches it, or to no place here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import libcst as cst

from amplint.hazards.entry_points import Entry, explore
from amplint.hazards.objects_in_reach import objects_in
from amplint.lowering.graph_tools import events_in
from amplint.lowering.graphs import Graphs
from amplint.lowering.linked_graphs import linked
from amplint.lowering.program import Program
from amplint.model.event_graph import Call, Function
from amplint.model.protocol.hazard import Hazard, HazardKind


class Elsewhere:
    """Tells what is one file's own from what is another one's.

    Args:
        program: the file, and those that it leads to.
        functions: the graphs of all functions.
    """

    def __init__(self, program: Program, functions: Mapping[str, Function]) -> None:
        self._program = program
        self._functions = functions
        self._alone: dict[str, frozenset[tuple[HazardKind, cst.CSTNode]]] = {}
        self._below: dict[str, frozenset[int]] = {}

    def site_here(self, hazard: Hazard) -> int:
        """Where a hazard stands in this file: itself, or the call that leads to it, or else the other half; -1 when it is
        another file's own."""
        if self.is_here(hazard.site):
            return hazard.site
        if hazard.is_shown_late and not any(self.is_here(site) for _, site in hazard.related):
            return -1
        here = [call for call in hazard.calls if self.is_here(call[0])] or self._leading_to(hazard)
        if not here:
            return self._half_here(hazard)
        site, entered = here[-1]
        return -1 if (hazard.kind, self._program.places[hazard.site]) in self._shown_alone(entered) else site

    def _half_here(self, hazard: Hazard) -> int:
        """The other half of what an inherited method of another file does; -1 where that is not in this file either."""
        if self.is_here(self._functions[hazard.root].site):
            return -1
        return next((site for _, site in hazard.related if site >= 0 and self.is_here(site)), -1)

    def _leading_to(self, hazard: Hazard) -> list[tuple[int, str]]:
        """The only call, in the function that showed a hazard, that leads to where it happened; empty for none and several."""
        calls = [each for each in events_in(self._functions[hazard.root].body) if isinstance(each, Call)]
        found = [(call.site, call.function) for call in calls if hazard.site in self._sites_below(call.function)]
        return found if len(found) == 1 and self.is_here(found[0][0]) else []

    def _sites_below(self, key: str) -> frozenset[int]:
        """The sites of a function and of all that it may call."""
        if key not in self._below:
            self._below[key] = frozenset()  # stands while it is worked out: a function may call itself
            found: set[int] = set()
            for each in events_in(self._functions[key].body):
                found |= self._sites_below(each.function) if isinstance(each, Call) else set()
                found.add(getattr(each, "site", -1))
            self._below[key] = frozenset(found)
        return self._below[key]

    def is_here(self, site: int) -> bool:
        """Whether a place is in this file."""
        tree = self._program.tree
        return tree.root(self._program.places[site]) is tree.module

    def _shown_alone(self, key: str) -> frozenset[tuple[HazardKind, cst.CSTNode]]:
        """The hazards, by kind and place, that a function of another file shows whoever calls it."""
        if key not in self._alone:
            node, alone = self._program.definition(key), self._for_itself
            assert isinstance(node, cst.FunctionDef)
            own_key, graphs = alone.below(node)
            functions = linked(graphs)
            entry = Entry(functions[own_key], functions, objects_in(functions[own_key], functions))
            self._alone[key] = frozenset(
                (each.kind, alone.program.places[each.site]) for each in explore(entry).hazards
            )
        return self._alone[key]

    @cached_property
    def _for_itself(self) -> Graphs:
        return Graphs(self._program.for_itself())
