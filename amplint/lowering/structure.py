"""Shapes of graphs: branches that decide whether AMP is on, and pieces in which nothing happens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from amplint.model.events import (
    Assign,
    Backward,
    Event,
    Forward,
    InnerGrad,
    Leave,
    OptimizerStep,
    Report,
    Scale,
    ScalerStep,
    ScalerUpdate,
    Unscale,
)  # fmt: skip
from amplint.model.graph import Both, Branch, Call, Condition, Function, Jump, Loop, Node, Not, Scoped, Seq, Test, Try

_DEVICE = re.compile(r"cuda|cpu|gpu|device", re.IGNORECASE)
_SCALING = (Scale, ScalerStep, ScalerUpdate, Unscale)


def parts_of(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node."""
    match node:
        case Seq():
            return node.parts
        case Branch():
            return (node.then, node.orelse)
        case Loop():
            return (node.body, node.orelse)
        case Scoped():
            return (node.body,)
        case Try():
            return (node.body, *node.handlers, node.orelse, node.final)
    return ()


def with_parts(node: Node, parts: Sequence[Node]) -> Node:
    """A node with other nodes in the place of its `parts_of`."""
    match node:
        case Seq():
            return Seq(tuple(parts))
        case Branch():
            return Branch(node.condition, *parts)
        case Loop():
            return replace(node, body=parts[0], orelse=parts[1])
        case Scoped():
            return replace(node, body=parts[0])
        case Try():
            return Try(parts[0], tuple(parts[1:-2]), parts[-2], parts[-1])
    return node


def events_in(node: Node) -> Iterator[Event | Call | Jump]:
    """All events, calls and jumps inside a node."""
    if isinstance(node, (Event, Call, Jump)):
        yield node
    for part in parts_of(node):
        yield from events_in(part)


def as_mode_branch(condition: Condition, then: Node, orelse: Node) -> Branch:
    """A branch; where one side scales and the other does the same without, its condition decides whether AMP is on."""
    if not varies(condition):
        if _is_counterpart(then, orelse):
            condition = _mode(condition)
        elif _is_counterpart(orelse, then):
            condition = Not(_mode(_negated(condition)))
    return Branch(condition, then, orelse)


def _is_counterpart(scaling: Node, plain: Node) -> bool:
    """Whether one side does with a scaler what the other does without, to the same loss or the same optimizer."""
    with_scaler, without = list(events_in(scaling)), list(events_in(plain))
    if any(isinstance(event, _SCALING) for event in without):
        return False
    losses = {event.source for event in with_scaler if isinstance(event, Scale)}
    optimizers = {event.optimizer for event in with_scaler if isinstance(event, ScalerStep)}
    return any(
        (isinstance(event, Backward) and event.loss in losses)
        or (isinstance(event, OptimizerStep) and event.optimizer in optimizers)
        for event in without
    )


def varies(condition: Condition) -> bool:
    """Whether a condition may come out differently from one iteration to the next."""
    match condition:
        case Test():
            return condition.kind in ("varying", "gate", "skipped")
        case Not():
            return varies(condition.part)
    return any(map(varies, condition.parts))


def asks_for_amp(condition: Condition) -> bool:
    """Whether a condition is about nothing but AMP being on."""
    match condition:
        case Test():
            return condition.kind == "mode"
        case Not():
            return asks_for_amp(condition.part)
    return all(map(asks_for_amp, condition.parts))


def needs_amp(condition: Condition) -> bool:
    """Whether a condition asks whether AMP is on, and perhaps whether there is a device for it."""
    if isinstance(condition, Both) and not condition.any_of:
        asked = [part for part in condition.parts if not _asks_for_device(part)]
        return bool(asked) and all(map(needs_amp, asked))
    return asks_for_amp(condition)


def _asks_for_device(condition: Condition) -> bool:
    match condition:
        case Test():
            return condition.kind == "config" and _DEVICE.search(condition.key) is not None
        case Not():
            return _asks_for_device(condition.part)
    return all(map(_asks_for_device, condition.parts))


def _negated(condition: Condition) -> Condition:
    return condition.part if isinstance(condition, Not) else Not(condition)


def _mode(condition: Condition) -> Test:
    return Test(_text(condition), _refs(condition), "mode")


def _text(condition: Condition) -> str:
    match condition:
        case Test():
            return condition.key
        case Not():
            return f"not {_text(condition.part)}"
    return "(" + (" or " if condition.any_of else " and ").join(map(_text, condition.parts)) + ")"


def _refs(condition: Condition) -> frozenset[str]:
    match condition:
        case Test():
            return condition.refs
        case Not():
            return _refs(condition.part)
    return frozenset().union(*map(_refs, condition.parts))


def without_idle_calls(functions: Mapping[str, Function]) -> dict[str, Function]:
    """The functions with every call that does nothing to AMP's objects replaced by a plain computation."""
    busy = {key for key, function in functions.items() if _acts(function.body)}
    callers: dict[str, set[str]] = {}
    for key, function in functions.items():
        for event in events_in(function.body):
            if isinstance(event, Call):
                callers.setdefault(event.function, set()).add(key)
    waiting = list(busy)
    while waiting:
        for caller in callers.get(waiting.pop(), set()) - busy:
            busy.add(caller)
            waiting.append(caller)
    return {
        key: replace(function, body=prune(_idle_replaced(function.body, busy))) for key, function in functions.items()
    }


def _acts(node: Node) -> bool:
    if isinstance(node, Event):
        return not isinstance(node, (Assign, Leave))
    return isinstance(node, Scoped) or any(map(_acts, parts_of(node)))


def _idle_replaced(node: Node, busy: set[str]) -> Node:
    if isinstance(node, Call) and node.function not in busy:
        return Assign(node.site, node.target, (), tuple(value for _, value in node.binding if value), True)
    return with_parts(node, [_idle_replaced(part, busy) for part in parts_of(node)])


def without_idle_forwards(node: Node) -> Node:
    """The graph without forward passes, but for those in regions that hold a step: only there they matter."""
    if isinstance(node, Forward):
        return Seq()
    if isinstance(node, Scoped) and any(isinstance(event, (OptimizerStep, ScalerStep)) for event in events_in(node)):
        return node
    return with_parts(node, [without_idle_forwards(part) for part in parts_of(node)])


def _conditions(node: Node) -> Iterator[Condition]:
    if isinstance(node, (Branch, Loop)) and node.condition is not None:
        yield node.condition
    for part in parts_of(node):
        yield from _conditions(part)


def prune(body: Node) -> Node:
    """The graph without assignments that no loss and no condition depends on, and without pieces in which nothing happens."""
    wanted = {name for condition in _conditions(body) for name in _refs(condition)}
    for event in events_in(body):
        match event:
            case Backward():
                wanted.add(event.loss)
            case Scale():
                wanted.add(event.source)
            case Report():
                wanted.add(event.value)
            case InnerGrad():
                wanted.add(event.outputs)
            case Jump():
                wanted.update(event.carried, event.args)
            case Call():
                wanted.update(value for _, value in event.binding)
    assigns = [event for event in events_in(body) if isinstance(event, Assign)]
    changed = True
    while changed:
        before = len(wanted)
        for assign in assigns:
            if _concerns(assign.target, wanted):
                wanted.update(assign.carried, assign.args)
        changed = len(wanted) != before
    return _pruned(body, wanted)


def _concerns(target: str, wanted: set[str]) -> bool:
    return target in wanted or any(name.startswith((f"{target}.", f"{target}[")) for name in wanted)


def _pruned(node: Node, wanted: set[str]) -> Node:
    match node:
        case Assign():
            return node if _concerns(node.target, wanted) else Seq()
        case Seq():
            kept: list[Node] = []
            for part in (_pruned(part, wanted) for part in node.parts):
                kept.extend(part.parts if isinstance(part, Seq) else [part])
            return Seq(tuple(kept))
        case Branch():
            then, orelse = _pruned(node.then, wanted), _pruned(node.orelse, wanted)
            return Seq() if then == orelse == Seq() else Branch(node.condition, then, orelse)
        case Loop():
            body, orelse = _pruned(node.body, wanted), _pruned(node.orelse, wanted)
            return orelse if body == Seq() else replace(node, body=body, orelse=orelse)
        case Scoped():
            inner = _pruned(node.body, wanted)
            return Seq() if inner == Seq() else Scoped(node.site, node.region, inner)
        case Try():
            return _pruned_try(node, wanted)
    return node


def _pruned_try(node: Try, wanted: set[str]) -> Node:
    handlers = tuple(_pruned(handler, wanted) for handler in node.handlers)
    parts = [_pruned(part, wanted) for part in (node.body, node.orelse, node.final)]
    if all(part == Seq() for part in (*parts, *handlers)):
        return Seq()
    return Try(parts[0], handlers, parts[1], parts[2])
