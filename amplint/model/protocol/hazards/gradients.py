"""Gradients in the author's hands: clipped or read while they are scaled."""

from __future__ import annotations

from amplint.model.events import Clip, GradAccess, ScalerStep, Unscale
from amplint.model.protocol.contents import EarlyUse, Part
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


def early_use(event: Clip | GradAccess) -> EarlyUse | None:
    """What a use of gradients is if they are still scaled; None where it comes out the same."""
    if isinstance(event, Clip):
        return EarlyUse(HazardKind.CLIP_BEFORE_UNSCALE, event.site, (event.by, event.limit))
    return EarlyUse(HazardKind.GRAD_READ_BEFORE_UNSCALE, event.site, (event.by,)) if event.by else None


def shown_early(known: Known, state: ProtocolState, event: Unscale | ScalerStep) -> Hazards:
    """Uses of gradients of which nobody saw what they hold, and that are unscaled only now.

    What is unscaled now was not before, for that would raise. A step unscales what nobody has unscaled: where nobody does,
    that is whatever was used before it.
    """
    by_step = isinstance(event, ScalerStep)
    if known.off(state, event.scaler) or (by_step and not known.unscales_first(event.scaler)):
        return ()
    label = "step" if by_step else "unscaled"
    return tuple(
        Hazard(HazardKind(use.kind), use.site, ((label, event.site),), event.scaler, event.optimizer, use.details)
        for use in sorted(state.grad(event.optimizer).used)
    )


def _while_scaled(
    known: Known, state: ProtocolState, event: Clip | GradAccess, kind: HazardKind, details: tuple[str, ...]
) -> Hazards:
    named = event.optimizer if isinstance(event, Clip) else ""
    names, grads = known.handled(state, event.owners, named)
    if not all(grad.still_scaled for grad in grads):
        return ()
    part = _meant([part for grad in grads for part in grad.parts], event.site)
    if known.off(state, part.scaler):
        return ()
    optimizer = names[0] if len(names) == 1 else ""
    return (Hazard(kind, event.site, (("scaled", part.site),), part.scaler, optimizer, details),)


def _meant(parts: list[Part], site: int) -> Part:
    """The backward pass to tell of at a place: the first, or where several scalers are at work the last one before it."""
    before = [part for part in parts if part.site < site] if len({part.scaler for part in parts}) > 1 else []
    return max(before, key=lambda part: part.site) if before else min(parts, key=lambda part: part.site)
