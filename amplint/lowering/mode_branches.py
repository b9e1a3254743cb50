"""Branches that decide whether AMP is on, and what conditions ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from amplint.lowering.graph_tools import events_in, with_parts
from amplint.model import vocabulary
from amplint.model.event_graph import (
    MOMENTS,
    Both,
    Branch,
    Call,
    Condition,
    Jump,
    Node,
    Not,
    Scoped,
    Test,
    mentioned,
    parts_of,
)
from amplint.model.events import (
    Backward,
    Escape,
    Event,
    Forward,
    OptimizerStep,
    Scale,
    ScalerStep,
    ScalerUpdate,
    Unscale,
)
from amplint.syntax.access_paths import called

_SCALING = (Scale, ScalerStep, ScalerUpdate, Unscale)


def as_mode_branch(condition: Condition, then: Node, orelse: Node) -> Branch:
    """A branch; where one side scales and the other does the same without, its condition decides whether AMP is on.

    Args:
        condition: what the branch asks.
        then: what happens where it holds.
        orelse: what happens elsewhere.
    """
    if not is_varying(condition) and not _is_constant(condition):
        if _is_counterpart(then, orelse):
            condition = _mode(condition)
        elif _is_counterpart(orelse, then):
            condition = Not(_mode(_negated(condition)))
    return Branch(condition, then, orelse)


def _is_constant(condition: Condition) -> bool:
    """Whether a condition always comes out alike."""
    asked = condition.part if isinstance(condition, Not) else condition
    return isinstance(asked, Test) and asked.kind in ("true", "false")


def with_modes_throughout(body: Node) -> Node:
    """The graph in which what decides in one branch whether AMP is on decides that wherever it is asked."""
    asked = frozenset(_modes(body))
    return _with_modes(body, asked) if asked else body


def _modes(node: Node) -> Iterator[str]:
    if isinstance(node, Branch):
        condition = node.condition.part if isinstance(node.condition, Not) else node.condition
        if isinstance(condition, Test) and condition.kind == "mode":
            yield condition.key
    for part in parts_of(node):
        yield from _modes(part)


def _with_modes(node: Node, asked: frozenset[str]) -> Node:
    if isinstance(node, Branch):
        node = replace(node, condition=_as_mode(node.condition, asked))
    elif isinstance(node, Call):
        return replace(node, conditions=tuple((name, _as_mode(each, asked)) for name, each in node.conditions))
    return with_parts(node, [_with_modes(part, asked) for part in parts_of(node)])


def _as_mode(condition: Condition, asked: frozenset[str]) -> Condition:
    if _text(condition) in asked and not is_varying(condition):
        return _mode(condition)
    match condition:
        case Test() if condition.implies:
            return replace(
                condition, implies=tuple((_as_test(each, asked), truth) for each, truth in condition.implies)
            )
        case Not():
            return Not(_as_mode(condition.part, asked))
        case Both():
            return replace(condition, parts=tuple(_as_mode(part, asked) for part in condition.parts))
    return condition


def _as_test(test: Test, asked: frozenset[str]) -> Test:
    return _mode(test) if test.key in asked else test


def _is_counterpart(scaling: Node, plain: Node) -> bool:
    """Whether one side does with a scaler what the other does without, to the same loss or the same optimizer."""
    with_scaler, without = list(events_in(scaling)), list(events_in(plain))
    if any(isinstance(event, _SCALING) for event in without) or _lowers_anyway(plain):
        return False
    losses = {event.source for event in with_scaler if isinstance(event, Scale)}
    optimizers = {event.optimizer for event in with_scaler if isinstance(event, ScalerStep)}
    return _is_left_to_scaler(with_scaler, without) or any(
        (isinstance(event, Backward) and event.loss in losses)
        or (isinstance(event, OptimizerStep) and event.optimizer in optimizers)
        for event in without
    )


def _lowers_anyway(node: Node) -> bool:
    """Whether a graph enters a region that is always of float16: then AMP is on there, whatever else is asked."""
    region = node.region if isinstance(node, Scoped) else None
    if region is not None and region.lowers and region.enabled == "yes" and region.dtype == "float16":
        return True
    return any(map(_lowers_anyway, parts_of(node)))


def _is_left_to_scaler(asking: list[Event | Call | Jump], plain: list[Event | Call | Jump]) -> bool:
    """Whether one side leaves the backward pass and the step that the other side takes to what is called a scaler, and is
    none that anything is known of: `loss_scaler(loss, optimizer)`."""
    steps = (Backward, OptimizerStep)
    return (
        not any(isinstance(event, steps) for event in asking)
        and all(any(isinstance(event, kind) for event in plain) for kind in steps)
        and any(isinstance(event, Escape) for event in asking)
        and any(isinstance(event, Forward) and vocabulary.SCALER.search(called(event.model)) for event in asking)
    )


def option_asked_again(condition: Condition, wanted: bool, body: Node, fields: frozenset[str]) -> Condition | None:
    """What else must hold than that AMP is on; None unless it holds all through a run, or never, and a block asks for it, too.

    Args:
        condition: what is asked.
        wanted: how it must come out.
        body: the block.
        fields: the attributes that functions of the file ask for, which the block may call.
    """
    parts = tuple(part for part in _needed(condition, wanted) if not is_about_amp(part))
    option = parts[0] if len(parts) == 1 else Both(parts)
    options, waiting = frozenset[str]() if is_varying(option) else _options(option), [body]
    own = {each.rpartition(".")[2] for each in mentioned(option) if each.startswith("self.")}
    while waiting and options:
        node = waiting.pop()
        if isinstance(node, Branch) and options & _options(node.condition):
            return option
        # The function that is called may ask for what it is given, or for an attribute of its object.
        if isinstance(node, Call) and (own & fields or any(options & _options(each) for _, each in node.conditions)):
            return option
        waiting += parts_of(node)
    return None


def _needed(condition: Condition, truth: bool) -> Iterator[Condition]:
    """The conditions that hold, all of them, where one comes out as said."""
    match condition:
        case Not():
            yield from _needed(condition.part, not truth)
        case Both() if condition.any_of != truth:
            for part in condition.parts:
                yield from _needed(part, truth)
        case _:
            yield condition if truth else Not(condition)


def _options(condition: Condition) -> frozenset[str]:
    """The keys of the tests in a condition that come out the same all through a run."""
    match condition:
        case Test():
            return frozenset({condition.key} if condition.kind == "config" else ())
        case Not():
            return _options(condition.part)
    return frozenset().union(*map(_options, condition.parts))


def is_varying(condition: Condition) -> bool:
    """Whether a condition may come out differently from one iteration to the next."""
    match condition:
        case Test():
            return condition.kind in ("varying", "gate", "skipped", "range", *MOMENTS)
        case Not():
            return is_varying(condition.part)
    return any(map(is_varying, condition.parts))


def is_about_amp(condition: Condition) -> bool:
    """Whether a condition is about nothing but AMP being on."""
    match condition:
        case Test():
            return condition.kind == "mode"
        case Not():
            return is_about_amp(condition.part)
    return all(map(is_about_amp, condition.parts))


def needs_amp(condition: Condition) -> bool:
    """Whether a condition asks whether AMP is on, and perhaps whether there is a device for it."""
    if isinstance(condition, Both) and not condition.any_of:
        asked = [part for part in condition.parts if not _asks_for_device(part)]
        return bool(asked) and all(map(needs_amp, asked))
    return is_about_amp(condition)


def _asks_for_device(condition: Condition) -> bool:
    match condition:
        case Test():
            return condition.kind == "config" and vocabulary.DEVICE.search(condition.key) is not None
        case Not():
            return _asks_for_device(condition.part)
    return all(map(_asks_for_device, condition.parts))


def _negated(condition: Condition) -> Condition:
    return condition.part if isinstance(condition, Not) else Not(condition)


def _mode(condition: Condition) -> Test:
    return Test(_text(condition), mentioned(condition), "mode")


def _text(condition: Condition) -> str:
    match condition:
        case Test():
            return condition.key
        case Not():
            return f"not {_text(condition.part)}"
    return "(" + (" or " if condition.any_of else " and ").join(map(_text, condition.parts)) + ")"
