"""Gradients in the author's hands: clipped or read while they are scaled."""

from __future__ import annotations

from amplint.model.events import Clip, GradAccess
from amplint.model.protocol.hazard import Hazard, HazardKind, Hazards
from amplint.model.protocol.objects import Known
from amplint.model.protocol.state import ProtocolState


def clip(known: Known, state: ProtocolState, event: Clip) -> Hazards:
    """A clip of gradients that are all still scaled; and one that raises where the scaler would skip the step."""
    early = _while_scaled(known, state, event, HazardKind.CLIP_BEFORE_UNSCALE, (event.by, event.limit))
    return (*early, *_raises_on_overflow(known, state, event))


def _raises_on_overflow(known: Known, state: ProtocolState, event: Clip) -> Hazards:
    if not event.raises:
        return ()
    names, grads = known.handled(state, event.owners, event.optimizer)
    scaled = [[part for part in grad.parts if part.kind == "scaled"] for grad in grads]
    if not all(scaled):
        return ()
    part = min((part for parts in scaled for part in parts), key=lambda part: part.site)
    if known.off(state, part.scaler):
        return ()
    optimizer = names[0] if len(names) == 1 else ""
    return (Hazard(HazardKind.CLIP_RAISES_ON_OVERFLOW, event.site, (("scaled", part.site),), part.scaler, optimizer),)


def access(known: Known, state: ProtocolState, event: GradAccess) -> Hazards:
    """A use of gradients that are all still scaled, if it comes out differently for that."""
    return _while_scaled(known, state, event, HazardKind.GRAD_READ_BEFORE_UNSCALE, (event.by,)) if event.by else ()


def _while_scaled(
    known: Known, state: ProtocolState, event: Clip | GradAccess, kind: HazardKind, details: tuple[str, ...]
) -> Hazards:
    named = event.optimizer if isinstance(event, Clip) else ""
    names, grads = known.handled(state, event.owners, named)
    if not all(grad.still_scaled for grad in grads):
        return ()
    part = min((part for grad in grads for part in grad.parts), key=lambda part: part.site)
    if known.off(state, part.scaler):
        return ()
    optimizer = names[0] if len(names) == 1 else ""
    return (Hazard(kind, event.site, (("scaled", part.site),), part.scaler, optimizer, details),)
