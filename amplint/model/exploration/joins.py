"""Property simulation (ESP; Das, Lerner and Seigle, PLDI 2002): of many states, those with equal protocol states become one.

What is known beside the protocol (conditions, values, cast weights) is joined in its lattice: a condition stays known if all
agree; a value is scaled by a scaler if all agree, and half if all say so; of weights that a region keeps, each may be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from typing import TypeVar

from amplint.model.protocol.contents import UNKNOWN_GRAD, UNKNOWN_SCALER, Grad, Stage, Stepped, Value
from amplint.model.protocol.path_state import PathFacts, PathState
from amplint.model.protocol.state import ProtocolState
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
        self.degraded = False
        self._fresh: list[PathState] = []
        self._seen: States = {}
        self._joined: Joined | None = None

    @property
    def is_idle(self) -> bool:
        """Whether everyone has been gone on from."""
        return not (self._fresh if self._joined is None else self._joined.fresh)

    def arrive(self, states: Iterable[PathState]) -> None:
        """Take in what arrives; what is known here already changes nothing."""
        if self._joined is None:
            for state in states:
                if state not in self._seen:
                    self._seen[state] = None
                    self._fresh.append(state)
            if len(self._seen) > JOIN_ABOVE:
                fresh = set(self._fresh)
                done = [state for state in self._seen if state not in fresh]
                self._joined = Joined(_by_protocol, done, self._fresh)
        else:
            for state in states:
                self._joined.add(state)
        if self._joined is not None:
            self._coarsen(self._joined)

    def _coarsen(self, joined: Joined) -> None:
        """Tell less apart, where there are too many."""
        if joined.kind is _by_protocol and len(joined) > _EXACT:
            self._joined = joined = joined.coarser(_without_places)
        if len(joined) > _MOST:
            self.degraded = True
            self._joined = joined.coarser(_regions)

    def take(self) -> list[PathState]:
        """The states to go on from."""
        if self._joined is not None:
            return self._joined.take()
        fresh, self._fresh = self._fresh, []
        return fresh


class Joined:
    """States of which those that are equal in one respect have become one; `fresh` are those to go on from.

    Args:
        kind: in what they must be equal.
        done: what was gone on from already, and need not be gone on from again unless something fresh adds to it.
        fresh: what was not.
    """

    def __init__(self, kind: _Kind, done: Iterable[PathState], fresh: Iterable[PathState]) -> None:
        self.kind = kind
        self._states: dict[object, PathState] = {}
        self.fresh: dict[object, None] = {}
        for state in done:
            self.add(state)
        self.fresh.clear()
        for state in fresh:
            self.add(state)

    def __len__(self) -> int:
        return len(self._states)

    def add(self, state: PathState) -> None:
        """Take in one more."""
        key = self.kind(state)
        known = self._states.get(key)
        after = state if known is None else join(known, state)
        if after is not known and after != known:
            self.fresh.pop(key, None)
            self._states[key] = after
            self.fresh[key] = None

    def take(self) -> list[PathState]:
        """The states to go on from."""
        fresh, self.fresh = self.fresh, {}
        return [self._states[key] for key in fresh]

    def coarser(self, kind: _Kind) -> Joined:
        """The same states, with fewer of them told apart."""
        fresh = [self._states[key] for key in self.fresh]
        return Joined(kind, (state for key, state in self._states.items() if key not in self.fresh), fresh)


def _without_places(state: PathState) -> object:
    """The state of the protocol as far as it decides on hazards, and not on where they are told."""
    protocol = state.protocol
    tables = (protocol.gradients, protocol.stages, protocol.stepped)
    bare = (frozenset((key, content.without_places) for key, content in table.items()) for table in tables)
    return (*bare, protocol.regions, protocol.untested, protocol.mode)


def _regions(state: PathState) -> object:
    return state.protocol.regions


def join(one: PathState, other: PathState) -> PathState:
    """The state that holds what both know.

    Args:
        one: the state of some paths, with the same protocol state as the other one.
        other: the state of other paths.
    """
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
    return mine._replace(parts=mine.contributions(theirs.parts))


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
            min(mine.half, theirs.half),
            mine.derived or theirs.derived,
        )
    # Where nothing is said of a part, what is known of the whole would hold.
    return joined if joined != Value() or reference(name).whole else None


def without_both(states: Iterable[PathState], keys: Mapping[str, Collection[str]]) -> Iterable[PathState]:
    """The states without the tests of constant conditions of which both outcomes left the same: asked again, they would come
    to both again.

    Args:
        states: those that meet.
        keys: the tests that were asked since the ways parted, each with the wholes that it is a part of.
    """
    known = dict.fromkeys(states)
    for key, wholes in keys.items():
        if len(known) < 2:
            return known
        if any(_is_constant(key, state) for state in known):
            known = _without_test(key, (), known)
            if wholes:  # What is known of them goes by what is known of the test: that alone makes no other state.
                known = _without_test(key, wholes, known)
    return known


def _is_constant(key: str, state: PathState) -> bool:
    truth = state.facts.truths.get(key)
    return truth is not None and truth.loops is None


def _without_test(key: str, wholes: Collection[str], states: States) -> States:
    """The states without a test and its wholes, where another one differs from them in these alone."""
    bare = {state: state.knowing(truths=state.facts.truths.without(wholes)) for state in states}
    others = frozenset(bare.values())
    return {_without(key, each) if _opposite(key, each) in others else state: None for state, each in bare.items()}


def _without(key: str, state: PathState) -> PathState:
    return state.knowing(truths=state.facts.truths.put(key, None))


def _opposite(key: str, state: PathState) -> PathState | None:
    """The state in which a constant condition has come out otherwise; None where it has not come out."""
    truths = state.facts.truths
    known = truths.get(key)
    if known is None or known.loops is not None:
        return None
    return state.knowing(truths=truths.put(key, known._replace(truth=not known.truth)))
