"""What a state may forget, so that states which differ in nothing that matters become equal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from amplint.model.frames import references
from amplint.model.state import Once, Slot, State

States = dict[State, None]
"""An ordered set, so that results do not depend on the hash seed."""


@dataclass(frozen=True)
class Live:
    """What the code to come may ask for: `soon` before the loop around goes on to its next iteration, `ever` at all."""

    soon: frozenset[str] = frozenset()
    ever: frozenset[str] = frozenset()

    def __or__(self, needs: frozenset[str]) -> Live:
        return Live(self.soon | needs, self.ever | needs)

    def again(self, needs: frozenset[str]) -> Live:
        """What code in a loop leaves to be asked for; `needs` are those of the loop."""
        return Live(self.soon, self.ever | needs)


def forget_tests(state: State, target: str, keep: bool = False) -> State:
    """The state once a reference is assigned: what was asked about it may be answered anew; `keep` its own truth."""
    changed: dict[tuple[str, ...], None] = {}
    for slot, _ in state.having("test") + state.having("once"):
        if not (keep and slot[1] == f"‹{target}›") and target in references(slot[1]):
            changed[slot] = None
    return state.put(changed) if changed else state


def renew(state: State, target: str) -> State:
    """The state when a loop's target takes its next value: elements that it indexes are other objects now."""
    index = f"[{target}]"
    others = {
        slot: None for slot, _ in state.having("grad") + state.having("stage") if any(index in part for part in slot)
    }
    return forget_tests(state.put({**others, ("value", target): None}), target)


def only_live(states: States, live: Live, loops: tuple[int, ...]) -> States:
    """The states with nothing in them but what the code to come may ask for; `loops` are those around it."""
    after: States = {}
    for state in states:
        filled = state.having("test") + state.having("value")
        dead: dict[Slot, None] = {slot: None for slot, _ in filled if slot[1] not in live.ever}
        for slot, content in state.having("once"):
            assert isinstance(content, Once)
            if slot[1] not in (live.soon if len(content.loops) >= len(loops) else live.ever):
                dead[slot] = None
        after[state.put(dead) if dead else state] = None
    return after


def merged(states: States, keys: Iterable[str], constant: Collection[str]) -> States:
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
