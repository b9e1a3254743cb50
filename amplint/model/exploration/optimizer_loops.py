"""Loops over collections of optimizers: their body is walked once, and what it does to the next element is asked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from amplint.model.event_graph import Branch, Condition, Jump, Loop, Node, Not, Seq, Test, parts_of
from amplint.model.events import Backward, Event, ScalerStep, ScalerUpdate
from amplint.model.exploration.call_references import Frame
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.references import reference

_MODE = "mode"
"""Stands for the keys of all conditions that ask whether AMP is on."""


def updates_between(protocol: Protocol, loop: Loop, states: Iterable[PathState], frame: Frame) -> Iterator[Hazard]:
    """The updates in a loop that come before the step of the next optimizer.

    Its gradients are as they were before the loop, but for the update; a loop with a backward pass of its own makes new ones.

    Args:
        protocol: judges the step that comes after an update.
        loop: the loop over a collection of optimizers.
        states: those in which it begins.
        frame: the call that the loop belongs to.
    """
    if _may_propagate(loop.body):
        return
    each_time = [one for one in _each_time(loop.body, frame, {}) if one[0].site not in loop.picked]
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
        if step.scaler != update.scaler or not _agree(one, other):
            continue
        for state in states:
            if not _agree({**one, **other}, _known(state)):
                continue
            grad = state.protocol.grad(step.optimizer)._replace(updated_at=update.site)
            waiting = state.protocol.with_grads({step.optimizer: grad})
            _, hazards = protocol.apply(state.with_protocol(waiting), step, frame.loops)
            yield from (hazard for hazard in hazards if hazard.kind is HazardKind.UPDATE_PER_OPTIMIZER)


def _each_time(node: Node, frame: Frame, given: Mapping[str, bool]) -> Iterator[tuple[Event, Mapping[str, bool]]]:
    """The events that come for each element, with the truths of lasting conditions (by key) under which they do."""
    match node:
        case Seq():
            for part in node.parts:
                yield from _each_time(part, frame, given)
                if isinstance(part, Jump):
                    return
                if isinstance(part, Branch):
                    left = [truth for side, truth in _sides(part) if not _jumps(side)]
                    key, truth = _lasting(part.condition, frame, *left) if len(left) == 1 else ("", True)
                    if len(left) < 2 and not key:
                        return
                    given = {**given, key: truth} if key else given
        case Branch():
            for side, truth in _sides(node):
                key, side_truth = _lasting(node.condition, frame, truth)
                if key and given.get(key, side_truth) == side_truth:
                    yield from _each_time(side, frame, {**given, key: side_truth})
        case Event():
            yield frame.event(node), given


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


def _may_propagate(node: Node) -> bool:
    match node:
        case Seq():
            return any(map(_may_propagate, node.parts))
        case Branch():
            return _may_propagate(node.then) or _may_propagate(node.orelse)
    return isinstance(node, Backward) or not isinstance(node, (Event, Jump))
