"""Calls: what a function makes of the states in which it is entered, worked out once for each that matters to it.

These are the summary edges of interprocedural analysis (Reps, Horwitz and Sagiv, POPL 1995): from the state at the entry to
the states at the exits, with the hazards on the way. What the function neither asks for nor changes stays with the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.model.exploration.call_references import references
from amplint.model.exploration.joins import States
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.state import Slot, State

_BESIDE = ("value", "test", "once")


@dataclass
class Summary:
    """What a function does with one state: the states by the kind of exit, and its hazards, with the calls below it."""

    exits: dict[str, States] = field(default_factory=dict)
    hazards: dict[Hazard, None] = field(default_factory=dict)


@dataclass(frozen=True)
class Concern:
    """What of a caller's state matters to a callee: names that it asks for, and references that it assigns."""

    asked: frozenset[str]
    assigned: frozenset[str]

    def split(self, state: State) -> tuple[State, dict[Slot, object]]:
        """The part of a state that matters, and what stays with the caller."""
        kept = {
            slot: content
            for kind in _BESIDE
            for slot, content in state.having(kind)
            if not self._matters(slot[1], kind)
        }
        return (state.put(dict.fromkeys(kept)), dict(kept)) if kept else (state, {})

    def _matters(self, name: str, kind: str) -> bool:
        if name in self.asked or name in self.assigned:
            return True
        return kind != "value" and not self.assigned.isdisjoint(references(name))
