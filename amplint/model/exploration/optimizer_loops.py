"""Loops over collections of optimizers: their body is walked once, and what it does to the next element is asked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.model.event_graph import Branch, Jump, Loop, Node, Seq
from amplint.model.events import Backward, Event, ScalerStep, ScalerUpdate
from amplint.model.exploration.call_references import Frame
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.references import reference


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
    parts = loop.body.parts if isinstance(loop.body, Seq) else (loop.body,)
    each_time = [frame.event(part) for part in parts if isinstance(part, Event) and part.site not in loop.picked]
    updates = [
        event for event in each_time if isinstance(event, ScalerUpdate) and not reference(event.scaler).is_element
    ]
    steps = [event for event in each_time if isinstance(event, ScalerStep) and reference(event.optimizer).is_element]
    for update, step in ((update, step) for update in updates for step in steps if step.scaler == update.scaler):
        for state in states:
            grad = state.protocol.grad(step.optimizer)._replace(updated_at=update.site)
            waiting = state.protocol.with_grads({step.optimizer: grad})
            _, hazards = protocol.apply(state.with_protocol(waiting), step, frame.loops)
            yield from (hazard for hazard in hazards if hazard.kind is HazardKind.UPDATE_PER_OPTIMIZER)


def _may_propagate(node: Node) -> bool:
    match node:
        case Seq():
            return any(map(_may_propagate, node.parts))
        case Branch():
            return _may_propagate(node.then) or _may_propagate(node.orelse)
    return isinstance(node, Backward) or not isinstance(node, (Event, Jump))
