"""Conditions: which sides of a branch a state can take, and what it knows on each."""

from __future__ import annotations

from collections.abc import Collection

from amplint.model.forgetting import Live
from amplint.model.frames import Frame
from amplint.model.graph import Both, Condition, Not, Test
from amplint.model.protocol import Protocol
from amplint.model.state import Once, State


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

    def decide(self, condition: Condition, state: State, frame: Frame, live: Live) -> list[tuple[State, bool]]:
        """The truths that a condition can have in a state, each with the state that knows it."""
        match condition:
            case Not():
                return [(after, not truth) for after, truth in self.decide(condition.part, state, frame, live)]
            case Both():
                return self._decide_both(condition, state, frame, live)
        return self._decide_test(condition, state, frame, live)

    def _decide_both(self, condition: Both, state: State, frame: Frame, live: Live) -> list[tuple[State, bool]]:
        done: list[tuple[State, bool]] = []
        open_ = [state]
        for part in condition.parts:
            outcomes = [outcome for before in open_ for outcome in self.decide(part, before, frame, live)]
            done += [(after, truth) for after, truth in outcomes if truth == condition.any_of]
            open_ = [after for after, truth in outcomes if truth != condition.any_of]
        return done + [(after, not condition.any_of) for after in open_]

    def _decide_test(self, test: Test, state: State, frame: Frame, live: Live) -> list[tuple[State, bool]]:
        if test.kind in ("true", "false"):
            return [(state, test.kind == "true")]
        handed = frame.handed(test.key) if test.kind in ("config", "varying", "gate") else None
        if handed is not None:
            return self.decide(handed[0], state, handed[1], live)
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
        once = slot[0] == "once"
        remembered = test.kind == "mode" or key in (live.soon if once else live.ever)
        outcomes = []
        for truth in (True, False):
            after = state.put({slot: Once(truth, frame.loops) if once else truth}) if remembered else state
            if test.kind == "gate":
                after = self._protocol.settle_tested(after)
            elif test.kind == "varying":
                after = self._protocol.settle(after)
            elif test.kind == "skipped" and not truth:
                after = self._protocol.settle_updated(after)
            outcomes.append((after, truth))
        return outcomes

    @staticmethod
    def _slot(kind: str, key: str, state: State) -> tuple[str, ...]:
        if kind == "mode":
            return ("mode",)
        # A constant assigned before ("x = None") is filed as a test, whatever kind the later condition is.
        constant, once = ("test", key), ("once", key)
        if kind == "config":
            return once if state.get(*once) is not None else constant
        return constant if state.get(*constant) is not None else once
