"""Property simulation (ESP; Das, Lerner and Seigle, PLDI 2002): of many states, those with equal protocol states become one.

What is known beside the protocol (conditions, values, cast weights) is joined in its lattice: a condition stays known if all
agree; a value is scaled by a scaler if all agree, and half if all say so; of weights that a region keeps, each may be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from operator import attrgetter
from typing import TypeVar

from amplint.model.protocol.contents import UNKNOWN_GRAD, UNKNOWN_SCALER, Grad, Stage, Stepped, Value
from amplint.model.protocol.state import PathFacts, PathState, ProtocolState
from amplint.model.protocol.table import Table
from amplint.model.references import reference

States = dict[PathState, None]
"""An ordered set, so that results do not depend on the hash seed."""

JOIN_ABOVE = 16
"""Up to so many states at a point are told apart by all that is known."""
_EXACT = 48
"""Up to so many protocol states are told apart by the places where things happened, too."""
_MOST = 240
"""Beyond so many protocol states, what differs between them is forgotten."""


_Kind = Callable[[PathState], object]
"""What of a state must be equal in two of them for them to become one."""

_by_protocol: _Kind = attrgetter("protocol")


class Point:
    """The states that have arrived at a point, and those of them that nobody has gone on from yet."""

    def __init__(self) -> None:
        self.fresh: States = {}
        self.degraded = False
        self._seen: States = {}
        self._joined: dict[object, PathState] = {}
        self._kind: _Kind | None = None

    def arrive(self, states: Iterable[PathState]) -> None:
        """Take in what arrives; what is known here already changes nothing."""
        for state in states:
            if self._kind is not None:
                self._join(state, self._kind)
            elif state not in self._seen:
                self._seen[state] = self.fresh[state] = None
        if self._kind is None and len(self._seen) > JOIN_ABOVE:
            self._coarsen(_by_protocol, self._seen)
        if len(self._joined) > _EXACT and self._kind is _by_protocol:
            self._coarsen(_without_places, self._joined.values())
        if len(self._joined) > _MOST:
            self.degraded = True
            self._coarsen(_regions, self._joined.values())

    def take(self) -> States:
        """The states to go on from."""
        fresh, self.fresh = self.fresh, {}
        return fresh

    def _coarsen(self, kind: _Kind, known: Iterable[PathState]) -> None:
        done = [state for state in known if state not in self.fresh]
        fresh, self.fresh, self._joined, self._kind = list(self.fresh), {}, {}, kind
        # What was gone on from already need not be gone on from again, unless something fresh adds to it.
        for state in done:
            self._join(state, kind)
        self.fresh = {}
        for state in fresh:
            self._join(state, kind)

    def _join(self, state: PathState, kind: _Kind) -> None:
        key = kind(state)
        known = self._joined.get(key)
        if known is None:
            self._joined[key] = state
            self.fresh[state] = None
            return
        after = join(known, state)
        if after != known:
            self.fresh.pop(known, None)
            self._joined[key] = after
            self.fresh[after] = None


def _without_places(state: PathState) -> object:
    """The state of the protocol as far as it decides on hazards, and not on where they are told."""
    protocol = state.protocol
    tables = (protocol.gradients, protocol.stages, protocol.stepped)
    bare = (frozenset((key, content.without_places) for key, content in table.items()) for table in tables)
    return (*bare, protocol.regions, protocol.untested, protocol.mode)


def _regions(state: PathState) -> object:
    return state.protocol.regions


def join(one: PathState, other: PathState) -> PathState:
    """The state that holds what both know."""
    facts = one.facts if one.facts == other.facts else _joined_facts(one.facts, other.facts)
    protocol = one.protocol if one.protocol == other.protocol else _joined_protocol(one.protocol, other.protocol)
    return one.with_facts(facts).with_protocol(protocol)


def _joined_protocol(one: ProtocolState, other: ProtocolState) -> ProtocolState:
    gradients = {name: _grad(mine, theirs) for name, mine, theirs in one.gradients.differing(other.gradients)}
    return ProtocolState(
        one.gradients.put_all(gradients),
        _agreed(one.stages, other.stages),
        one.regions if one.regions == other.regions else (),
        _agreed(one.stepped, other.stepped),
        one.untested and other.untested,
        one.mode if one.mode == other.mode else None,
    )


def _grad(mine: Grad | None, theirs: Grad | None) -> Grad:
    if mine is None or theirs is None or mine.without_places != theirs.without_places:
        return UNKNOWN_GRAD
    return mine._replace(parts=mine.parts | theirs.parts)


_Key = TypeVar("_Key")
_Placed = TypeVar("_Placed", Stage, Stepped)


def _agreed(one: Table[_Key, _Placed], other: Table[_Key, _Placed]) -> Table[_Key, _Placed]:
    """What both say, wherever it happened."""
    return one.put_all(
        {
            key: mine if mine and theirs and mine.without_places == theirs.without_places else None
            for key, mine, theirs in one.differing(other)
        }
    )


def _joined_facts(one: PathFacts, other: PathFacts) -> PathFacts:
    values = {name: _value(name, mine, theirs) for name, mine, theirs in one.values.differing(other.values)}
    truths = one.truths.without([key for key, _, _ in one.truths.differing(other.truths)])
    after = PathFacts(one.values.put_all(values), truths, one.casts | other.casts)
    return one if after == one else after


def _value(name: str, mine: Value | None, theirs: Value | None) -> Value | None:
    joined = Value()
    if mine is not None and theirs is not None:
        joined = Value(
            mine.scaler if mine.scaler == theirs.scaler else UNKNOWN_SCALER,
            mine.half and theirs.half,
            mine.derived or theirs.derived,
        )
    # Where nothing is said of a part, what is known of the whole would hold.
    return joined if joined != Value() or reference(name).whole else None


def without_both(states: States, keys: Iterable[str], constant: Collection[str]) -> States:
    """The states without the tests of which both outcomes left the same: asked again, they would come to both again.

    Only of `constant` conditions, those that have one truth over a run.
    """
    for key in keys:
        if len(states) < 2:
            return states
        if key in constant:
            states = _without(key, states)
    return states


def _without(key: str, states: States) -> States:
    """The states, with those that differ in this one test alone made one."""
    after: States = {}
    for state in states:
        truths = state.facts.truths
        known = truths.get(key)
        if known is not None and known.loops is None:
            opposite = state.knowing(truths=truths.put(key, known._replace(truth=not known.truth)))
            after[state.knowing(truths=truths.put(key, None)) if opposite in states else state] = None
        else:
            after[state] = None
    return after
