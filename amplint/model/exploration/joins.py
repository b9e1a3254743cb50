"""Property simulation (ESP; Das, Lerner and Seigle, PLDI 2002): of many states, those with equal protocol states become one.

What is known beside the protocol (conditions, values, cast weights) is joined in its lattice: a condition stays known if all
agree; a value is scaled by a scaler if all agree, and half if all say so; of weights that a region keeps, each may be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from amplint.model.protocol.state import UNKNOWN_GRAD, Grad, Slot, Stage, State, Stepped, Value, whole_of

States = dict[State, None]
"""An ordered set, so that results do not depend on the hash seed."""

JOIN_ABOVE = 16
"""Up to so many states at a point are told apart by all that is known."""
_EXACT = 48
"""Up to so many protocol states are told apart by the places where things happened, too."""
_MOST = 240
"""Beyond so many protocol states, what differs between them is forgotten."""


class Point:
    """The states that have arrived at a point, and those of them that nobody has gone on from yet."""

    def __init__(self) -> None:
        self.fresh: States = {}
        self.degraded = False
        self._seen: States = {}
        self._joined: dict[object, State] = {}
        self._key: Callable[[State], object] | None = None

    def arrive(self, states: Iterable[State]) -> None:
        """Take in what arrives; what is known here already changes nothing."""
        for state in states:
            if self._key is not None:
                self._join(state)
            elif state not in self._seen:
                self._seen[state] = self.fresh[state] = None
        if self._key is None and len(self._seen) > JOIN_ABOVE:
            self._coarsen(State.protocol)
        if len(self._joined) > _EXACT and self._key is State.protocol:
            self._coarsen(_without_places)
        if len(self._joined) > _MOST:
            self.degraded = True
            self._coarsen(_anything)

    def take(self) -> States:
        """The states to go on from."""
        fresh, self.fresh = self.fresh, {}
        return fresh

    def _coarsen(self, key: Callable[[State], object]) -> None:
        before = self._joined.values() if self._key is not None else self._seen
        done = [state for state in before if state not in self.fresh]
        fresh, self.fresh, self._joined, self._key = list(self.fresh), {}, {}, key
        # What was gone on from already need not be gone on from again, unless something fresh adds to it.
        for state in done:
            self._join(state)
        self.fresh = {}
        for state in fresh:
            self._join(state)

    def _join(self, state: State) -> None:
        assert self._key is not None
        key = self._key(state)
        known = self._joined.get(key)
        if known is None:
            self._joined[key] = self.fresh[state] = state  # type: ignore[assignment]
            return
        after = join(known, state)
        if after != known:
            self.fresh.pop(known, None)
            self._joined[key] = after
            self.fresh[after] = None


def _without_places(state: State) -> object:
    """The protocol state as far as it decides on hazards, and not on where they are told."""
    return tuple(
        sorted(
            (kind, frozenset((slot, _bare(content)) for slot, content in state.having(kind)))
            for kind in state.protocol_kinds
        )
    )


def _bare(content: object) -> object:
    match content:
        case Grad():
            parts = frozenset((part.kind, part.scaler, part.half) for part in content.parts)
            marks = (content.unscaled_at >= 0, content.updated_at >= 0, content.cleared[1] >= 0)
            return (parts, *marks, content.stepped, content.onto_unscaled)
        case Stage():
            return (content.name, content.left_at >= 0, content.bad, content.tested)
        case Stepped():
            return (content.scaler, content.optimizer, content.loops)
    return content


def _anything(state: State) -> object:
    return state.get("regions")


def join(one: State, other: State) -> State:
    """The state that holds what both know."""
    if one == other:
        return one
    changes: dict[Slot, object | None] = {}
    for slot, content in one.all():
        theirs = other.get(*slot)
        if theirs != content:
            changes[slot] = _joined(slot, content, theirs)
    for slot, content in other.all():
        if one.get(*slot) is None:
            changes[slot] = _joined(slot, content, None)
    return one.put(changes)


def _joined(slot: Slot, mine: object, theirs: object | None) -> object | None:
    match mine:
        case Value():
            return _value(slot[1], mine, theirs)
        case Grad():
            return _grad(mine, theirs)
        case frozenset() if slot[0] == "casts":
            return mine | (theirs if isinstance(theirs, frozenset) else frozenset())
        case Stage() | Stepped() if theirs is not None and _bare(mine) == _bare(theirs):
            return mine
    return None


def _value(reference: str, mine: Value, theirs: object | None) -> Value | None:
    joined = Value()
    if isinstance(theirs, Value):
        joined = Value(
            mine.scaler if mine.scaler == theirs.scaler else "?",
            mine.half and theirs.half,
            mine.derived or theirs.derived,
        )
    # Where nothing is said of a part, what is known of the whole would hold.
    return joined if joined != Value() or whole_of(reference) else None


def _grad(mine: Grad, theirs: object | None) -> Grad:
    if not isinstance(theirs, Grad) or _bare(mine) != _bare(theirs):
        return UNKNOWN_GRAD
    return replace(mine, parts=mine.parts | theirs.parts)


def without_both(states: States, keys: Iterable[str], constant: Collection[str]) -> States:
    """The states without the tests of which both outcomes left the same: asked again, they would come to both again.

    Only of `constant` conditions, those that have one truth over a run.
    """
    for key in keys:
        if len(states) < 2:
            return states
        if key in constant:
            states = _without(("test", key), states)
    return states


def _without(slot: Slot, states: States) -> States:
    """The states, with those that differ in this one test alone made one."""
    after: States = {}
    for state in states:
        truth = state.get(*slot)
        both = isinstance(truth, bool) and state.put({slot: not truth}) in states
        after[state.put({slot: None}) if both else state] = None
    return after
