"""Calls: what a function makes of the states in which it is entered, worked out once for each that matters to it.

These are the summary edges of interprocedural analysis (Reps, Horwitz and Sagiv, POPL 1995): from the state at the entry to
the states at the exits, with the hazards on the way. What the function neither asks for nor changes stays with the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from amplint.model.exploration.call_references import RETURN
from amplint.model.exploration.joins import States
from amplint.model.protocol.contents import Truth, Value
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.state import PathState
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
    """What of a caller's state does not matter to a callee, and stays with the caller."""

    values: Mapping[str, Value]
    truths: Mapping[str, Truth]


@frozen
class Concern:
    """What of a caller's state matters to a callee: names that it asks for, and references that it assigns."""

    asked: frozenset[str]
    assigned: frozenset[str]

    def split(self, state: PathState) -> tuple[PathState, Beside]:
        """The part of a state that matters, and what stays with the caller."""
        values, truths = state.facts.values, state.facts.truths
        beside = Beside(
            {name: value for name, value in values.items() if not self._matters(name)},
            {key: truth for key, truth in truths.items() if not (self._matters(key) or self._answers_anew(key))},
        )
        return state.knowing(values.without(beside.values), truths.without(beside.truths)), beside

    def _matters(self, name: str) -> bool:
        return name in self.asked or name in self.assigned

    def _answers_anew(self, key: str) -> bool:
        """Whether a callee assigns what a condition is about."""
        return not self.assigned.isdisjoint(condition_key(key).mentioned)


def returned(state: PathState, beside: Beside, prefix: str, target: str) -> PathState:
    """A state after a call: with what stayed with the caller, and with the result in the place of what was local.

    Args:
        state: the state in which the callee is left.
        beside: what stayed with the caller.
        prefix: what the references of the callee begin with.
        target: the reference that gets the result; empty for none.
    """
    values, truths = state.facts.values, state.facts.truths
    found: dict[str, Value | None] = dict.fromkeys(_local(values.keys(), prefix))
    found.update(beside.values)
    if target:
        found[target] = state.facts.value(f"{prefix}{RETURN}")
    asked: dict[str, Truth | None] = dict.fromkeys(_local(truths.keys(), prefix))
    asked.update(beside.truths)
    return state.knowing(values.put_all(found), truths.put_all(asked))


def _local(names: Collection[str], prefix: str) -> list[str]:
    return [name for name in names if prefix in name]
