"""Weights that autocast casts and keeps until the outermost region ends: what events do to them, and who uses old ones.

A use of weights is a forward pass, known by the model; or one that a backward pass has gone back through, known by that
backward pass: the next time that it runs, there was another forward pass of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from amplint.model.events import Backward, CacheCleared, Event, Forward, OptimizerStep, ScalerStep
from amplint.model.protocol.state import Cast, State

_BACKWARD = "%backward"


def use_of(event: Forward | Backward) -> str:
    """The use of weights that an event is, or follows."""
    if isinstance(event, Forward):
        return event.model
    call = event.loss.rpartition("/")[0]  # one helper may run the backward passes of several models
    return f"{_BACKWARD} {event.site} {call}"


def stale_at(state: State, event: Forward | Backward) -> int:
    """The step that has changed the weights since they were cast for this use; -1 where they are as they were."""
    casts = state.casts if state.lowers else ()
    return max((cast.stale_at for cast in casts if cast.use == use_of(event)), default=-1)


def after(owners_of: Callable[[Iterable[str]], Collection[str]], state: State, event: Event) -> State:
    """The state with the weights that are kept after an event; `owners_of` says which optimizers own a model's parameters."""
    if state.keeping_region() is None:
        return state
    match event:
        case Forward() | Backward():
            used = use_of(event)
            new = state.lowers and all(cast.use != used for cast in state.casts)
            return state.put({("casts",): state.casts | {Cast(used)}}) if new else state
        case OptimizerStep() | ScalerStep():
            changed = frozenset(
                replace(cast, stale_at=event.site)
                if cast.use.startswith(_BACKWARD) or event.optimizer in owners_of((cast.use,))
                else cast
                for cast in state.casts
            )
            return state.put({("casts",): changed or None})
        case CacheCleared():
            return state.put({("casts",): None})
    return state
