"""Regions: backward passes in them, and steps, after which what they have cast of the weights is stale."""

from __future__ import annotations

from amplint.model.events import Backward, Forward
from amplint.model.protocol import weight_cache
from amplint.model.protocol.hazard import Hazard, HazardKind, Hazards
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.state import ProtocolState


def stale_weights(state: PathState, event: Forward | Backward) -> Hazards:
    """A forward pass, or the backward pass after it, with weights that were cast before a step changed them."""
    keeping, step = state.protocol.keeping_region, weight_cache.stale_at(state, event)
    if keeping is None or step < 0:
        return ()
    return (Hazard(HazardKind.REGION_SPANS_STEPS, keeping.site, (("step", step), ("use", event.site))),)


def backward(state: ProtocolState, event: Backward, loops: tuple[int, ...]) -> Hazards:
    """A backward pass inside an enabled region; "spans" when loops lie between region and backward pass."""
    entered = state.active_region
    if entered is None or not state.lowers:
        return ()
    spans = "spans" if len(loops) > entered.loops else ""
    keeping = state.keeping_region
    related = (("region", entered.site), ("outermost", keeping.site if keeping is not None else -1))
    return (Hazard(HazardKind.BACKWARD_IN_AUTOCAST, event.site, related, details=(spans,)),)
