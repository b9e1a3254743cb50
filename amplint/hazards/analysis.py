"""The static witness at work: explores every function of a file, and files the hazards with their places."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.diagnostics import Partly
from amplint.hazards.cross_file import Elsewhere
from amplint.hazards.entry_points import Entries, Entry, explore, worth_exploring
from amplint.hazards.found import Found, ShownPaths
from amplint.lowering.program import Program
from amplint.model.event_graph import Function
from amplint.model.events import ObjectFacts
from amplint.model.exploration.written_explorations import Exploration
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.model.records import changed

GAVE_UP = "has more paths than are explored: what was found stands, the rest was not looked at"
FORGOT = "has so many states that some were not told apart: what differs between them is taken for unknown"


class Analysis:
    """The hazards of one file."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._entries = Entries(program)

    @property
    def functions(self) -> dict[str, Function]:
        """The graphs of all functions, without calls of what does nothing to AMP's objects."""
        return self._entries.everything

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is explored, in the order of the file."""
        return self._entries.all

    @property
    def amp_tests(self) -> set[cst.If]:
        """The `if` statements that ask whether AMP is on."""
        return self.program.amp_tests if self._entries.graphs else set()  # reading the graphs is what finds them

    @property
    def amp_needed(self) -> set[cst.If]:
        """The `if` statements that ask whether AMP is on, and perhaps whether there is a device for it."""
        return self.program.amp_needed if self._entries.graphs else set()

    @property
    def varying_tests(self) -> set[cst.If]:
        """The `if` statements that may come out differently from one iteration to the next."""
        return self.program.varying_tests if self._entries.graphs else set()

    @cached_property
    def _explored(self) -> tuple[tuple[Entry, Exploration], ...]:
        """What the paths of every entry have shown."""
        training = self._entries.training
        entries = self.entries if training.is_there and training.uses_amp else ()
        return tuple((entry, explore(entry)) for entry in worth_exploring(entries))

    @property
    def partly(self) -> tuple[Partly, ...]:
        """The functions of which some paths are not known, or not told apart; empty while nobody has asked for hazards."""
        if "_explored" not in self.__dict__:
            return ()
        places, tree = self.program.places, self.program.tree
        found = {
            Partly(tree.range(places[entry.function.site]).start.row, entry.function.key.partition("@")[0], how): None
            for entry, exploration in self._explored
            if (how := GAVE_UP if exploration.gave_up else FORGOT if exploration.degraded else "")
        }
        return tuple(found)

    @cached_property
    def _elsewhere(self) -> Elsewhere:
        return Elsewhere(self.program, self._entries.functions)

    @cached_property
    def hazards(self) -> tuple[Found, ...]:
        """All hazards, one for each kind and place; what a function shows by itself goes before what a caller shows."""
        found: dict[tuple[HazardKind, int], tuple[Hazard, ShownPaths, Entry, int]] = {}
        for entry, exploration in self._explored:
            shown = ShownPaths(exploration)
            for hazard in exploration.hazards:
                site = self._elsewhere.site_here(hazard)
                if site < 0:
                    continue
                place = (hazard.kind, site)
                hazard = changed(hazard, root=entry.function.key)
                if place not in found or _rank(hazard) < _rank(found[place][0]):
                    found[place] = (hazard, shown, entry, site)
        return tuple(self._place(*each) for _, each in sorted(found.items(), key=lambda each: each[0]))

    def _place(self, hazard: Hazard, shown: ShownPaths, entry: Entry, site: int) -> Found:
        places = self.program.places
        related = {label: places[other] for label, other in hazard.related if other >= 0}
        scaler = entry.objects.get(hazard.scaler, ObjectFacts())
        origin = places[hazard.site] if site != hazard.site else None
        here = all(self._elsewhere.is_here(other) for _, other in hazard.related if other >= 0)
        return Found(hazard, places[site], related, shown, scaler, entry, self.program, origin, here)

    def of(self, kind: HazardKind, elsewhere: bool = False, halves: bool = False) -> list[Found]:
        """The hazards of one kind, in source order.

        Args:
            kind: the kind.
            elsewhere: whether those count that happen in another file, and are told at the call that leads there.
            halves: whether those count, too, of which only the other half is in this file.
        """
        all_ = (found for found in self.hazards if found.hazard.kind is kind)
        return [found for found in all_ if found.origin is None or (halves if found.is_half else elsewhere)]


def _rank(hazard: Hazard) -> tuple[bool, bool]:
    """What of two hazards of one kind and place is told: what shows both halves, and that by itself."""
    return hazard.is_shown_late, hazard.inlined
