"""Pieces of graphs in which nothing happens, and what they leave when they go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from amplint.lowering.graph_tools import events_in, with_parts
from amplint.model.event_graph import (
    Branch,
    Call,
    Condition,
    Function,
    Jump,
    Loop,
    Node,
    Scoped,
    Seq,
    Try,
    mentioned,
    parts_of,
)  # fmt: skip
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
    Unscale,
)  # fmt: skip
from amplint.model.records import changed

_JOINT = re.compile(r"[.\[]")


def without_idle_calls(functions: Mapping[str, Function]) -> dict[str, Function]:
    """The functions with every call replaced by a plain computation that does nothing to AMP's objects, and sets no attribute
    that conditions ask for, that names an optimizer, or that a loss comes from."""
    asked = frozenset(_fields_asked(functions.values()))
    busy = {key for key, function in functions.items() if _acts(function.body) or _sets(function.body, asked)}
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
        key: changed(function, body=prune(_idle_replaced(function.body, busy), asked))
        for key, function in functions.items()
    }


def _fields_asked(functions: Iterable[Function]) -> Iterator[str]:
    """The attributes that conditions in functions ask for, those by which optimizers are given to scalers, and those that losses
    come from."""
    for function in functions:
        for condition in _conditions(function.body):
            yield from filter(None, map(_field, mentioned(condition)))
        for event in events_in(function.body):
            if isinstance(event, (Unscale, ScalerStep)):
                yield from filter(None, (_field(event.optimizer),))
        yield from filter(None, map(_field, _losses(function.body)))


def _losses(body: Node) -> set[str]:
    """What is propagated or scaled in a graph, and what that is computed from."""
    events = [*events_in(body)]
    losses = {
        event.loss if isinstance(event, Backward) else event.source
        for event in events
        if isinstance(event, (Backward, Scale))
    }
    return _with_sources(losses, events) if losses else losses


def _field(name: str) -> str:
    """The attribute that a reference ends in; empty for none."""
    return name.rpartition(".")[2] if "." in name else ""


def _acts(node: Node) -> bool:
    if isinstance(node, Event):
        return not isinstance(node, (Assign, Leave))
    return isinstance(node, Scoped) or any(map(_acts, parts_of(node)))


def _sets(node: Node, asked: Collection[str]) -> bool:
    """Whether one of some attributes gets a value, by its name."""
    return any(isinstance(event, Assign) and _field(event.target) in asked for event in events_in(node))


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


def prune(body: Node, asked: Collection[str] = ()) -> Node:
    """The graph without assignments that no loss and no condition depends on, and without pieces in which nothing happens.

    Args:
        body: the graph.
        asked: attributes that other functions may ask for in conditions.
    """
    wanted = {name for condition in _conditions(body) for name in mentioned(condition)}
    events = [*events_in(body)]
    for event in events:
        match event:
            case Backward():
                wanted.add(event.loss)
            case Unscale() | ScalerStep():
                wanted |= {event.scaler, event.optimizer}
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
                wanted.update(name for _, condition in event.conditions for name in mentioned(condition))
    wanted.update(event.target for event in events if isinstance(event, Assign) and _field(event.target) in asked)
    return _pruned(body, _with_sources(wanted, events))


def _with_sources(names: Iterable[str], events: Iterable[Event | Call | Jump]) -> set[str]:
    """References, what they are reached through, and what they are assigned from."""
    wanted = {*_with_owners(names)}
    assigns = [event for event in events if isinstance(event, Assign)]
    before = -1
    while len(wanted) != before:
        before = len(wanted)
        for assign in assigns:
            if assign.target in wanted:
                wanted.update(_with_owners((*assign.carried, *assign.args)))
    return wanted


def _with_owners(names: Iterable[str]) -> Iterator[str]:
    """References, and what they are reached through: `a.b[i]`, `a.b`, `a`."""
    for name in names:
        yield name
        yield from (name[: joint.start()] for joint in _JOINT.finditer(name))


def _pruned(node: Node, wanted: set[str]) -> Node:
    match node:
        case Assign():
            return node if node.target in wanted else Seq()
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
            return orelse if body == Seq() else changed(node, body=body, orelse=orelse)
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
