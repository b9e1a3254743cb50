"""Gradients in the author's hands: clipped or read while they are scaled; and backward passes in regions."""

from __future__ import annotations

from amplint.model.events import Backward, Clip, GradAccess
from amplint.model.hazards.hazard import Hazard, Hazards
from amplint.model.hazards.known import Known
from amplint.model.state import State


def clip(known: Known, state: State, event: Clip) -> Hazards:
    """A clip of gradients that are all still scaled."""
    return _while_scaled(known, state, event, "clip-before-unscale", (event.by, event.limit))


def access(known: Known, state: State, event: GradAccess) -> Hazards:
    """A use of gradients that are all still scaled, if it comes out differently for that."""
    return _while_scaled(known, state, event, "grad-read-before-unscale", (event.by,)) if event.by else ()


def _while_scaled(known: Known, state: State, event: Clip | GradAccess, kind: str, details: tuple[str, ...]) -> Hazards:
    named = event.optimizer if isinstance(event, Clip) else ""
    names, grads = known.handled(state, event.owners, named)
    if not all(grad.still_scaled for grad in grads):
        return ()
    part = min((part for grad in grads for part in grad.parts), key=lambda part: part.site)
    if known.off(state, part.scaler):
        return ()
    optimizer = names[0] if len(names) == 1 else ""
    return (Hazard(kind, event.site, (("scaled", part.site),), part.scaler, optimizer, details),)


def backward_in_region(known: Known, state: State, event: Backward, loops: tuple[int, ...]) -> Hazards:
    """A backward pass inside an enabled region; "spans" when loops lie between region and backward pass."""
    entered = state.active_region()
    if entered is None or (state.amp_off and entered.region.enabled == "maybe"):
        return ()
    spans = "spans" if len(loops) > entered.loops else ""
    return (Hazard("backward-in-autocast", event.site, (("region", entered.site),), details=(spans,)),)
