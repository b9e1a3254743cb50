"""Loops over collections of optimizers: their body is walked once, and what it does to the next element is asked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import product

from amplint.model.event_graph import Branch, Call, Condition, Jump, Loop, Node, Not, Seq, Test, parts_of
from amplint.model.events import Backward, Event, ScalerStep, ScalerUpdate
from amplint.model.exploration.call_references import MAX_DEPTH, Frame
from amplint.model.exploration.effects import Flows
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.records import frozen
from amplint.model.references import reference

_MODE = "mode"
"""Stands for the keys of all conditions that ask whether AMP is on."""
_CALLED = "#"
"""Begins the names that functions called in a loop have of their own."""


class OptimizerLoops:
    """Asks what one iteration of such a loop does to the next optimizer.

    Args:
        protocol: judges the step that comes after an update.
        flows: the graphs that calls in a loop may enter.
    """

    def __init__(self, protocol: Protocol, flows: Flows) -> None:
        self._protocol, self._flows = protocol, flows

    def updates_between(self, loop: Loop, states: Iterable[PathState], frame: Frame) -> Iterator[Hazard]:
        """The updates in a loop that come before the step of the next optimizer.

        Its gradients are as they were before the loop, but for the update; a loop with a backward pass of its own makes new ones.

        Args:
            loop: the loop over a collection of optimizers.
            states: those in which it begins.
            frame: the call that the loop belongs to.
        """
        if self._may_propagate(loop.body, frame):
            return
        found = list(self._each_time(loop.body, frame, _EachTime()))
        each_time = [one for one in found if one[0].site not in loop.picked]
        updates = [
            (event, given)
            for event, given in each_time
            if isinstance(event, ScalerUpdate) and not reference(event.scaler).is_element
        ]
        steps = [
            (event, given)
            for event, given in each_time
            if isinstance(event, ScalerStep) and reference(event.optimizer).is_element
        ]
        for (update, one), (step, other) in product(updates, steps):
            if step.scaler == update.scaler and _agree(one.truths, other.truths):
                given = {**one.truths, **other.truths}
                agreeing = (state for state in states if _agree(given, _known(state)))
                found_there = (each for state in agreeing for each in self._judged(update, step, state, frame))
                yield from (_called_by(other.calls, hazard) for hazard in found_there)

    def _judged(self, update: ScalerUpdate, step: ScalerStep, state: PathState, frame: Frame) -> Iterator[Hazard]:
        """What is wrong with the step of an optimizer that comes after the update for another one."""
        grad = state.protocol.grad(step.optimizer)._replace(updated_at=update.site)
        waiting = state.protocol.with_grads({step.optimizer: grad})
        _, hazards = self._protocol.apply(state.with_protocol(waiting), step, frame.loops)
        yield from (hazard for hazard in hazards if hazard.kind is HazardKind.UPDATE_PER_OPTIMIZER)

    def _each_time(self, node: Node, frame: Frame, given: _EachTime) -> Iterator[tuple[Event, _EachTime]]:
        """The events that come for each element, with what they come under."""
        match node:
            case Seq():
                for part in node.parts:
                    yield from self._each_time(part, frame, given)
                    if isinstance(part, Jump):
                        return
                    if isinstance(part, Branch):
                        left = [truth for side, truth in _sides(part) if not _jumps(side)]
                        key, truth = _lasting(part.condition, frame, *left) if len(left) == 1 else ("", True)
                        if len(left) < 2 and not key:
                            return
                        given = given.with_truth(key, truth) if key else given
            case Branch():
                for side, truth in _sides(node):
                    key, side_truth = _lasting(node.condition, frame, truth)
                    if key and given.truths.get(key, side_truth) == side_truth:
                        yield from self._each_time(side, frame, given.with_truth(key, side_truth))
            case Call():
                function = self._flows.function(node.function)
                if function is not None:
                    calls = (*given.calls, (node.site, node.function))
                    yield from self._each_time(
                        function.body, frame.entering(function, node, _CALLED), _EachTime(given.truths, calls)
                    )
            case Event():
                yield frame.event(node), given

    def _may_propagate(self, node: Node, frame: Frame) -> bool:
        """Whether something may make new gradients, or cannot be looked through."""
        match node:
            case Seq():
                return any(self._may_propagate(part, frame) for part in node.parts)
            case Branch():
                return self._may_propagate(node.then, frame) or self._may_propagate(node.orelse, frame)
            case Call():
                function = self._flows.function(node.function) if frame.depth < MAX_DEPTH else None
                if function is None:
                    return True
                return self._may_propagate(function.body, frame.entering(function, node, _CALLED))
        return isinstance(node, Backward) or not isinstance(node, (Event, Jump))


@frozen
class _EachTime:
    """Under which truths of lasting conditions (by key) something comes for each element, and by which calls in the loop."""

    truths: Mapping[str, bool] = field(default_factory=dict)
    calls: tuple[tuple[int, str], ...] = ()

    def with_truth(self, key: str, truth: bool) -> _EachTime:
        """The same, where one more condition has come out so."""
        return _EachTime({**self.truths, key: truth}, self.calls)


def _called_by(calls: tuple[tuple[int, str], ...], hazard: Hazard) -> Hazard:
    """A hazard as the loop shows it that leads there by some calls."""
    for site, function in reversed(calls):
        hazard = hazard.called_at(site, function)
    return hazard


def _sides(branch: Branch) -> tuple[tuple[Node, bool], ...]:
    return (branch.then, True), (branch.orelse, False)


def _jumps(node: Node) -> bool:
    return any(isinstance(part, Jump) or _jumps(part) for part in parts_of(node)) or isinstance(node, Jump)


def _lasting(condition: Condition, frame: Frame, truth: bool) -> tuple[str, bool]:
    """The key of a condition that one iteration answers like the next, and its truth where the whole has this one."""
    match condition:
        case Not():
            return _lasting(condition.part, frame, not truth)
        case Test() if condition.lasts:
            return frame.key(condition.key), truth
        case Test() if condition.kind == "mode":
            return _MODE, truth
    return "", truth


def _known(state: PathState) -> dict[str, bool]:
    """The conditions of which a state knows the truth."""
    known = {key: each.truth for key, each in state.facts.truths.items()}
    return known if state.protocol.mode is None else {**known, _MODE: state.protocol.mode}


def _agree(one: Mapping[str, bool], other: Mapping[str, bool]) -> bool:
    return all(other.get(key, truth) == truth for key, truth in one.items())
