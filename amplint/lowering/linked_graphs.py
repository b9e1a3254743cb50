"""Graphs of functions that know each other: what only the functions together tell of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from amplint.lowering.graph_tools import events_in, with_parts
from amplint.lowering.pruning import without_idle_calls
from amplint.model.event_graph import (
    MOMENTS,
    Both,
    Branch,
    Call,
    Condition,
    Function,
    Loop,
    Node,
    Not,
    Seq,
    Test,
    last_jump,
    parts_of,
)  # fmt: skip
from amplint.model.events import ScalerStep
from amplint.model.records import changed, frozen


def linked(functions: Mapping[str, Function]) -> dict[str, Function]:
    """The functions without calls that do nothing, and with the tests that a scaler's steps wait for told from other moments.

    A scheduler that waits for the same moment as the step keeps pace with it; one that waits for another does not.
    """
    busy = without_idle_calls(functions)
    stepping = _stepping(busy)
    told = {key: changed(busy[key], body=_told(busy[key].body, stepping)) for key in stepping}
    return {**busy, **told}


def _stepping(functions: Mapping[str, Function]) -> set[str]:
    """The functions in which a scaler takes a step, or in a function that they call."""
    events = {key: list(events_in(function.body)) for key, function in functions.items()}
    found = {key for key in events if any(isinstance(event, ScalerStep) for event in events[key])}
    while more := {key for key in events.keys() - found if any(_enters(event, found) for event in events[key])}:
        found |= more
    return found


def _enters(event: object, functions: set[str]) -> bool:
    return isinstance(event, Call) and event.function in functions


def _told(body: Node, stepping: set[str]) -> Node:
    """The body of a function in which a scaler takes a step; a question that one waits for is the same wherever it is asked."""
    moments = _Moments(stepping, set())
    return _waited_for(moments.told(body, False), moments.awaited)


def _waited_for(node: Node, keys: set[str]) -> Node:
    """A node in which the ends of epochs, by their keys, that steps wait for are no moments of their own."""
    told = with_parts(node, [_waited_for(part, keys) for part in parts_of(node)]) if keys else node
    if isinstance(told, Branch) and isinstance(told.condition, Test) and told.condition.key in keys:
        return Branch(changed(told.condition, kind="range"), told.then, told.orelse)
    return told


@frozen
class _Moments:
    """Looks for the branches in which steps are taken; `stepping` are the functions that take some.

    `awaited` are the keys of the ends of epochs that a step waits for, and is taken at no other time.
    """

    stepping: set[str]
    awaited: set[str]

    def told(self, node: Node, follows: bool) -> Node:
        """A node with its tests told apart; `follows` says whether a step follows it in the same iteration."""
        match node:
            case Seq():
                parts: list[Node] = []
                for part in reversed(node.parts):
                    parts.append(self.told(part, follows))
                    follows = follows or self._steps(part)
                return Seq(tuple(reversed(parts)))
            case Branch():
                then, orelse = self.told(node.then, follows), self.told(node.orelse, follows)
                taken = {
                    True: self._steps(then) or (follows and bool(last_jump(orelse))),
                    False: self._steps(orelse) or (follows and bool(last_jump(then))),
                }
                self.awaited.update(_waits(node.condition, taken))
                return Branch(_awaited(node.condition, taken), then, orelse)
            case Loop():
                return with_parts(node, [self.told(node.body, False), self.told(node.orelse, follows)])
        return with_parts(node, [self.told(part, follows) for part in parts_of(node)])

    def _steps(self, node: Node) -> bool:
        return any(isinstance(event, ScalerStep) or _enters(event, self.stepping) for event in events_in(node))


def _awaited(condition: Condition, taken: Mapping[bool, bool]) -> Condition:
    """A condition; where a step waits for a moment in it, that is no other moment than those of the steps.

    The end of an epoch is one where a step is taken for what is left over, besides those of all other steps.
    """
    match condition:
        case Test():
            return changed(condition, kind="range") if condition.kind in MOMENTS and taken[True] else condition
        case Not():
            return Not(_awaited(condition.part, {truth: taken[not truth] for truth in taken}))
    if not condition.any_of:
        return Both(tuple(_awaited(part, taken) for part in condition.parts))
    return Both(tuple(part if _is_rest(part) else _awaited(part, taken) for part in condition.parts), any_of=True)


def _waits(condition: Condition, taken: Mapping[bool, bool]) -> Iterator[str]:
    """The ends of epochs that a step waits for alone."""
    match condition:
        case Test():
            if condition.kind == "end" and taken[True]:
                yield condition.key
        case Not():
            yield from _waits(condition.part, {truth: taken[not truth] for truth in taken})
        case Both(any_of=False):
            for part in condition.parts:
                yield from _waits(part, taken)


def _is_rest(condition: Condition) -> bool:
    """Whether it is true at the end of an epoch, at which a step is taken for what the others have left over."""
    return isinstance(condition, Test) and condition.kind == "end"
