"""Conditions: which sides of a branch a state can take, and what it knows on each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from amplint.model.event_graph import MOMENTS, Both, Condition, Not, Test
from amplint.model.exploration.call_references import Frame, keys_of
from amplint.model.protocol.contents import Asked, Truth
from amplint.model.protocol.path_state import PathState
from amplint.model.records import changed, frozen
from amplint.model.references import condition_key, key_of


@frozen
class Asking:
    """How a condition is asked.

    `remembers` says whether the code to come asks for it again, by its key; `away` is the truth with which the code only leaves
    the loop or the function; `branch` is the branch that goes by it, None where all that follows may. `rest_of` are the loops
    (their sites) of which the rest of an iteration goes by it, all or nothing; None where something else does. `ends` says that
    it ends the innermost of them.
    """

    remembers: Callable[[str], bool]
    away: bool | None = None
    branch: Asked | None = None
    rest_of: tuple[int, ...] | None = None
    ends: bool = False

    @property
    def opposite(self) -> Asking:
        """How the negation is asked."""
        return self if self.away is None else changed(self, away=not self.away)


Decided = list[tuple[PathState, bool]]
"""The truths that a condition can have in a state, each with the state that knows it."""


class Conditions:
    """Decides conditions.

    Args:
        always: the keys of conditions that always hold.

    `constant` gathers the keys of tests that were met and have one truth over a run, each with those of the wholes that it is a
    part of.
    """

    def __init__(self, always: Collection[str]) -> None:
        self._always = always
        self.constant: dict[str, dict[str, None]] = {}

    def decide(self, condition: Condition, state: PathState, frame: Frame, asking: Asking) -> Decided:
        """The truths that a condition can have in a state, each with the state that knows it.

        Args:
            condition: what is asked.
            state: the state before.
            frame: the call in which it is asked.
            asking: how it is asked.
        """
        match condition:
            case Not():
                return [
                    (after, not truth) for after, truth in self.decide(condition.part, state, frame, asking.opposite)
                ]
            case Both():
                return self._decide_both(condition, state, frame, asking)
        return self._decide_test(condition, state, frame, asking)

    def _decide_both(self, condition: Both, state: PathState, frame: Frame, asking: Asking) -> Decided:
        """What comes of the parts, as far as it agrees with the truth of the whole, which outlives that of the parts in joins."""
        decided = self._decide_parts(condition, state, frame, asking)
        key = frame.need(condition.key)
        whole = Test(key, kind="config" if _is_constant(condition) else "varying")
        known = self._known(whole, key, state)
        if known is not None:
            return [(after, truth) for after, truth in decided if (truth == condition.any_of) == known]
        if not self._remembers(whole, key, asking):
            return decided
        for part in map(frame.need, keys_of(condition)):
            if part in self.constant:
                self.constant[part][key] = None
        return [
            (self._knowing(whole, key, truth == condition.any_of, after, frame, asking), truth)
            for after, truth in decided
        ]

    def _decide_parts(self, condition: Both, state: PathState, frame: Frame, asking: Asking) -> Decided:
        done: Decided = []
        open_ = [state]
        for part in condition.parts:
            outcomes = [outcome for before in open_ for outcome in self.decide(part, before, frame, asking)]
            done += [(after, truth) for after, truth in outcomes if truth == condition.any_of]
            open_ = [after for after, truth in outcomes if truth != condition.any_of]
        return done + [(after, not condition.any_of) for after in open_]

    def _decide_test(self, test: Test, state: PathState, frame: Frame, asking: Asking) -> Decided:
        if test.kind in ("true", "false"):
            return [(state, test.kind == "true")]
        handed = frame.handed(test.key) if test.lasts or test.kind in ("varying", "gate") else None
        if handed is not None:
            return self.decide(handed[0], state, handed[1], asking)
        key = frame.key(test.key)
        if key in self._always:
            return [(state, True)]
        if test.kind in ("varying", "gate") and not _is_told(key, state):
            rest_of = asking.rest_of if test.kind == "varying" else None
            state = state.with_protocol(state.protocol.asking(asking.branch, rest_of, asking.ends))
        known = self._known(test, key, state)
        if known is None and test.implies and self._is_excluded(test, state, frame):
            known = False
        if known is not None:
            if test.kind == "gate" and not _is_told(key, state):
                state = state.with_protocol(state.protocol.tested())
            at_end = known and test.kind == "end"  # also where a step has been taken for what was left over
            return [(state.with_protocol(state.protocol.passed_by()) if at_end else state, known)]
        if test.lasts:
            self.constant.setdefault(key, {})
        return [
            (self._concluding(test, key, truth, state, frame, asking), truth)
            for truth in self._outcomes(test, key, frame, asking)
        ]

    def _is_excluded(self, test: Test, state: PathState, frame: Frame) -> bool:
        """Whether a test has come out in a way in which another one cannot be true."""
        return any(self._known(each, frame.key(each.key), state) is (not truth) for each, truth in test.implies)

    def _concluding(
        self, test: Test, key: str, truth: bool, state: PathState, frame: Frame, asking: Asking
    ) -> PathState:
        """The state once a test has come out, and with it those that it decides."""
        state = self._knowing(test, key, truth, state, frame, asking)
        for implied, outcome in test.implies if truth else ():
            name = frame.key(implied.key)
            if self._known(implied, name, state) is None:
                state = self._knowing(implied, name, outcome, state, frame, asking)
        return state

    def _known(self, test: Test, key: str, state: PathState) -> bool | None:
        """The truth of a condition that has come out before."""
        if test.kind == "mode":
            return state.protocol.mode
        known = state.facts.truths.get(key)
        return known.truth if known is not None else None

    def _outcomes(self, test: Test, key: str, frame: Frame, asking: Asking) -> tuple[bool, ...]:
        """The truths that a condition may have, of which nothing is known."""
        return (True, False)

    def _remembers(self, test: Test, key: str, asking: Asking) -> bool:
        """Whether the truth of a condition is kept in mind."""
        return asking.remembers(key)

    def _knowing(self, test: Test, key: str, truth: bool, state: PathState, frame: Frame, asking: Asking) -> PathState:
        """The state once a test has come out."""
        protocol = state.protocol
        if test.kind == "mode":
            protocol = protocol.changed(mode=truth)
        elif self._remembers(test, key, asking):
            loops = None if test.lasts else frame.loops
            state = state.knowing(truths=state.facts.truths.put(key, Truth(truth, loops)))
        if test.kind == "unscaled" and truth:
            protocol = protocol.changed(mode=False)
        if test.kind == "gate":
            protocol = protocol.tested()
        elif test.kind in MOMENTS and truth:
            protocol = protocol.passed_by()
        elif test.kind == "skipped" and not truth:
            protocol = protocol.not_skipped()
        return state.with_protocol(protocol)


def _is_told(key: str, state: PathState) -> bool:
    """Whether a test asks no more than whether the path went by a step: that says nothing of what the step did."""
    known = state.facts.truths.get(key)
    return known is not None and known.after_step


def _is_constant(condition: Condition) -> bool:
    """Whether a condition has one truth over a run."""
    match condition:
        case Test():
            return condition.kind in ("config", "mode", "true", "false")
        case Not():
            return _is_constant(condition.part)
    return all(map(_is_constant, condition.parts))


def forget_tests(state: PathState, target: str, keep: bool = False) -> PathState:
    """The state once a reference is assigned: what was asked about it may be answered anew.

    Args:
        state: the state before.
        target: the reference.
        keep: whether its own truth stays, because it was assigned a constant.
    """
    truths = state.facts.truths
    if not len(truths):
        return state
    own = key_of(target) if keep else ""
    return state.knowing(
        truths=truths.without([key for key in truths.keys() if key != own and target in condition_key(key).mentioned])
    )


def assigned(state: PathState, target: str, handed_back: bool = False) -> PathState:
    """The state once a reference has got a value of which nothing is known.

    Args:
        state: the state before.
        target: the reference.
        handed_back: whether the value comes from what the reference named.
    """
    unvalued = state.knowing(values=state.facts.values.put(target, None))
    return forget_tests(unvalued.with_protocol(state.protocol.naming_another(target, handed_back)), target)


def next_iteration(state: PathState, loops: tuple[int, ...], targets: Iterable[str]) -> PathState:
    """The state when an iteration begins: what was asked in the last one is asked anew, and the targets hold the next values.

    Args:
        state: the state before.
        loops: the sites of the loop and of those around it, the outermost first.
        targets: the references that each iteration assigns.
    """
    truths = state.facts.truths
    asked = [key for key, known in truths.items() if known.loops is not None and loops[-1] in known.loops]
    state = state.knowing(truths=truths.without(asked))
    state = state.with_protocol(state.protocol.next_round(loops))
    for target in targets:
        state = assigned(state, target)
    return state
