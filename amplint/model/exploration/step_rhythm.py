"""In which loops a scaler takes its steps, and schedules advance: once for each call, in each iteration, or for what is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from amplint.model.event_graph import Call, Function
from amplint.model.events import ScalerStep, SchedulerStep
from amplint.model.exploration.call_references import Frame
from amplint.model.exploration.effects import MAX_DEPTH, Flows

Place = tuple[str, tuple[int, ...]]
"""An optimizer, and the loops (their sites, the outermost first) in which it is stepped."""


@dataclass(frozen=True)
class Rhythm:
    """Where a root function and all that it calls takes steps.

    `is_one_round` says that it advances a schedule, and takes steps in no loop at all: somebody calls it for each iteration.
    `rests` are the steps outside of a loop in which the same optimizer is stepped, too: for what the loop has left over.
    """

    is_one_round: bool = False
    rests: frozenset[Place] = frozenset()


def rhythm_of(root: Function, flows: Flows) -> Rhythm:
    """The rhythm of a function; of one that advances no schedule nobody asks for it.

    Args:
        root: the function.
        flows: the graphs that calls in it may enter.
    """
    if not flows.advances:
        return Rhythm()
    found = dict.fromkeys(_steps(root, flows))
    places = [place for place in found if place is not None]
    rests = {
        (optimizer, loops)
        for optimizer, loops in places
        if any(other == optimizer and inner != loops and inner[: len(loops)] == loops for other, inner in places)
    }
    return Rhythm(None in found and bool(places) and not any(loops for _, loops in places), frozenset(rests))


def _steps(root: Function, flows: Flows) -> Iterator[Place | None]:
    """Where scalers step, and None where a schedule advances."""
    waiting, seen = [Frame(root)], set[object]()
    while waiting:
        frame = waiting.pop()
        for block in flows.graph(frame.function).blocks:
            loops = (*frame.loops, *block.loops)
            match block.step:
                case SchedulerStep():
                    yield None
                case ScalerStep(optimizer=optimizer):
                    yield frame.ref(optimizer), loops
                case Call() as call if (
                    frame.depth < MAX_DEPTH and (called := flows.function(call.function)) is not None
                ):
                    below = replace(frame, loops=loops).entering(called, call, "#")
                    key = called.key, below.binding, below.loops
                    if key not in seen:
                        seen.add(key)
                        waiting.append(below)
