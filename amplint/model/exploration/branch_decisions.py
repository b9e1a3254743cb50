"""Conditions: which sides of a branch a state can take, and what it knows on each."""

from __future__ import annotations

from collections.abc import Callable, Collection

from amplint.model.event_graph import Both, Condition, Not, Test
from amplint.model.exploration.call_references import Frame, references
from amplint.model.protocol.state import Once, Slot, State
from amplint.model.protocol.transitions import Protocol

Remembers = Callable[[str], bool]
"""Whether the code to come asks for a condition again, by its key."""


class Conditions:
    """Decides conditions.

    Args:
        protocol: what a test for a skipped step settles.
        always: the keys of conditions that always hold.

    `constant` gathers the keys of conditions that were met and have one truth over a run.
    """

    def __init__(self, protocol: Protocol, always: Collection[str]) -> None:
        self._protocol = protocol
        self._always = always
        self.constant: dict[str, None] = {}

    def decide(
        self, condition: Condition, state: State, frame: Frame, remembers: Remembers
    ) -> list[tuple[State, bool]]:
        """The truths that a condition can have in a state, each with the state that knows it."""
        match condition:
            case Not():
                return [(after, not truth) for after, truth in self.decide(condition.part, state, frame, remembers)]
            case Both():
                return self._decide_both(condition, state, frame, remembers)
        return self._decide_test(condition, state, frame, remembers)

    def _decide_both(
        self, condition: Both, state: State, frame: Frame, remembers: Remembers
    ) -> list[tuple[State, bool]]:
        done: list[tuple[State, bool]] = []
        open_ = [state]
        for part in condition.parts:
            outcomes = [outcome for before in open_ for outcome in self.decide(part, before, frame, remembers)]
            done += [(after, truth) for after, truth in outcomes if truth == condition.any_of]
            open_ = [after for after, truth in outcomes if truth != condition.any_of]
        return done + [(after, not condition.any_of) for after in open_]

    def _decide_test(self, test: Test, state: State, frame: Frame, remembers: Remembers) -> list[tuple[State, bool]]:
        if test.kind in ("true", "false"):
            return [(state, test.kind == "true")]
        handed = frame.handed(test.key) if test.kind in ("config", "varying", "gate") else None
        if handed is not None:
            return self.decide(handed[0], state, handed[1], remembers)
        key = frame.key(test.key)
        if key in self._always:
            return [(state, True)]
        slot = self._slot(test.kind, key, state)
        known = state.get(*slot)
        if isinstance(known, Once):
            known = known.truth
        if isinstance(known, bool):
            return [(state, known)]
        if test.kind == "config":
            self.constant[key] = None
        return [(self._knowing(test, slot, truth, state, frame, remembers), truth) for truth in (True, False)]

    def _knowing(self, test: Test, slot: Slot, truth: bool, state: State, frame: Frame, remembers: Remembers) -> State:
        """The state once a test has come out."""
        if test.kind == "mode" or remembers(slot[1]):
            state = state.put({slot: Once(truth, frame.loops) if slot[0] == "once" else truth})
        if test.kind == "gate":
            return self._protocol.settle_tested(state)
        if test.kind == "varying":
            return self._protocol.settle(state)
        if test.kind == "skipped" and not truth:
            return self._protocol.settle_updated(state)
        return state

    @staticmethod
    def _slot(kind: str, key: str, state: State) -> Slot:
        if kind == "mode":
            return ("mode",)
        # A constant assigned before ("x = None") is filed as a test, whatever kind the later condition is.
        constant, once = ("test", key), ("once", key)
        if kind == "config":
            return once if state.get(*once) is not None else constant
        return constant if state.get(*constant) is not None else once


def forget_tests(state: State, target: str, keep: bool = False) -> State:
    """The state once a reference is assigned: what was asked about it may be answered anew; `keep` its own truth."""
    changed: dict[Slot, None] = {}
    for kind in ("test", "once"):
        for slot, _ in state.having(kind):
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
