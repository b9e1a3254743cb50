"""Weights that autocast casts and keeps until the outermost region ends: what events do to them, and who uses old ones.

A use of weights is a forward pass, known by the model; or one that a backward pass has gone back through, known by that
backward pass: the next time that it runs, there was another forward pass of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from amplint.model.events import Backward, CacheCleared, Event, Forward, OptimizerStep, ScalerStep
from amplint.model.protocol.contents import Cast
from amplint.model.protocol.path_state import PathState
from amplint.model.references import reference

_BACKWARD = "%backward"


def use_of(event: Forward | Backward) -> str:
    """The use of weights that an event is, or follows."""
    if isinstance(event, Forward):
        return event.model
    # One helper may run the backward passes of several models.
    return f"{_BACKWARD} {event.site} {reference(event.loss).call}"


def stale_at(state: PathState, event: Forward | Backward) -> int:
    """The step that has changed the weights since they were cast for this use; -1 where they are as they were.

    Args:
        state: the state on the path.
        event: what uses the weights.
    """
    casts = state.facts.casts if state.protocol.lowers else ()
    return max((cast.stale_at for cast in casts if cast.use == use_of(event)), default=-1)


def after(owners_of: Callable[[Iterable[str]], Collection[str]], state: PathState, event: Event) -> PathState:
    """The state with the weights that are kept after an event.

    Args:
        owners_of: the optimizers that own the parameters of some models.
        state: the state before.
        event: what happens.
    """
    if state.protocol.keeping_region is None:
        return state
    casts = state.facts.casts
    match event:
        case Forward() | Backward():
            used = use_of(event)
            new = state.protocol.lowers and all(cast.use != used for cast in casts)
            return state.knowing(casts=casts | {Cast(used)}) if new else state
        case OptimizerStep() | ScalerStep():
            changed = frozenset(
                cast._replace(stale_at=event.site)
                if cast.use.startswith(_BACKWARD) or event.optimizer in owners_of((cast.use,))
                else cast
                for cast in casts
            )
            return state.knowing(casts=changed)
        case CacheCleared():
            return state.knowing(casts=frozenset())
    return state
