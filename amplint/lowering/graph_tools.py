"""Event graphs taken apart and put together again: their parts, their events, what their conditions look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.model.event_graph import Branch, Call, Jump, Loop, Node, Scoped, Seq, Try, parts_of
from amplint.model.events import Assign, Event, Forward, SchedulerStep
from amplint.model.records import changed

_ASKING = frozenset({"isinstance", "hasattr", "len", "range", "print"})


def with_parts(node: Node, parts: Sequence[Node]) -> Node:
    """A node with other nodes in the place of its `parts_of`.

    Args:
        node: the node.
        parts: as many as it has.
    """
    match node:
        case Seq():
            return Seq(tuple(parts))
        case Branch():
            return Branch(node.condition, *parts)
        case Loop():
            return changed(node, body=parts[0], orelse=parts[1])
        case Scoped():
            return changed(node, body=parts[0])
        case Try():
            return Try(parts[0], tuple(parts[1:-2]), parts[-2], parts[-1])
    return node


def events_in(node: Node) -> Iterator[Event | Call | Jump]:
    """All events, calls and jumps inside a node."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, (Event, Call, Jump)):
            yield current
        else:
            waiting.extend(reversed(parts_of(current)))


def only_advances(body: Node) -> bool:
    """Whether all that the body of a loop does is to advance schedules, as often as there are micro-batches or processes."""
    inside = list(events_in(body))
    schedules = [event.scheduler for event in inside if isinstance(event, SchedulerStep)]
    return bool(schedules) and all(
        isinstance(event, (Assign, SchedulerStep))
        or (isinstance(event, Forward) and (_asks(event.model) or event.model.rpartition(".")[0] in schedules))
        for event in inside
    )


def _asks(called: str) -> bool:
    """Whether a call of what has this name only asks."""
    return called in _ASKING or called.endswith(".get_scale")
