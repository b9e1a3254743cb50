"""Calls: what a function makes of the states in which it is entered, worked out once for each that matters to it.

These are the summary edges of interprocedural analysis (Reps, Horwitz and Sagiv, POPL 1995): from the state at the entry to
the states at the exits, with the hazards on the way. What the function neither asks for nor changes stays with the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from amplint.model.exploration.call_references import RETURN
from amplint.model.exploration.joins import States
from amplint.model.protocol.contents import Truth, Value
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.table import Content, Table
from amplint.model.records import frozen
from amplint.model.references import condition_key


@dataclass
class Summary:
    """What a function does with one state: the states by the kind of exit, and its hazards, with the calls below it."""

    exits: dict[str, States] = field(default_factory=dict)
    hazards: dict[Hazard, None] = field(default_factory=dict)

    def add(self, hazards: Iterable[Hazard]) -> None:
        """Take in more hazards."""
        for hazard in hazards:
            self.hazards[hazard] = None


@frozen
class Beside:
    """The facts of a caller, and the names of those that matter to a callee; the others stay as they are."""

    values: Table[str, Value]
    truths: Table[str, Truth]
    values_within: frozenset[str]
    truths_within: frozenset[str]


@frozen
class Concern:
    """What of a caller's state matters to a callee: names that it asks for, and references that it assigns."""

    asked: frozenset[str]
    assigned: frozenset[str]
    _truths: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """Which conditions matter, as far as that was asked."""

    def split(self, state: PathState) -> tuple[PathState, Beside]:
        """The part of a state that matters, and what stays with the caller."""
        values, truths = state.facts.values, state.facts.truths
        inner_values, inner_truths = values.only(self._matters), truths.only(self._matters_as_truth)
        within = frozenset(inner_values.keys()), frozenset(inner_truths.keys())
        return state.knowing(inner_values, inner_truths), Beside(values, truths, *within)

    def _matters(self, name: str) -> bool:
        return name in self.asked or name in self.assigned

    def _matters_as_truth(self, key: str) -> bool:
        """Whether a callee asks for a condition, or assigns what it is about."""
        if key not in self._truths:
            about = condition_key(key).mentioned
            self._truths[key] = self._matters(key) or not self.assigned.isdisjoint(about)
        return self._truths[key]


def returned(state: PathState, beside: Beside, prefix: str, target: str) -> PathState:
    """A state after a call: with what stayed with the caller, and with the result in the place of what was local.

    Args:
        state: the state in which the callee is left.
        beside: what stayed with the caller.
        prefix: what the references of the callee begin with.
        target: the reference that gets the result; empty for none.
    """
    values = _left(state.facts.values, beside.values, beside.values_within, prefix)
    truths = _left(state.facts.truths, beside.truths, beside.truths_within, prefix)
    if target:
        values[target] = state.facts.value(f"{prefix}{RETURN}")
    return state.knowing(beside.values.put_all(values), beside.truths.put_all(truths))


def _left(
    after: Table[str, Content], before: Table[str, Content], within: frozenset[str], prefix: str
) -> dict[str, Content | None]:
    """What a call changes of the facts that its caller knew before; what mattered to the callee is as that has left it."""
    changes: dict[str, Content | None] = dict.fromkeys(within)
    for name, content in after.items():
        if prefix not in name and (name in within or before.get(name) is None):
            changes[name] = content
    return changes
