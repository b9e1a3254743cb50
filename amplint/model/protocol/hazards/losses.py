"""Losses that are shown while they are scaled, and gradients that become part of a loss."""

from __future__ import annotations

from amplint.model.events import InnerGrad, Report
from amplint.model.protocol.contents import UNKNOWN_SCALER
from amplint.model.protocol.hazard import Hazard, HazardKind, Hazards
from amplint.model.protocol.objects import Known
from amplint.model.protocol.path_state import PathState


def report(known: Known, state: PathState, event: Report) -> Hazards:
    """A loss that is read out as the scaler has multiplied it."""
    value = state.facts.value(event.value)
    if value is None or not value.is_scaled or known.off(state.protocol, value.scaler):
        return ()
    return (Hazard(HazardKind.SCALED_LOSS_REPORTED, event.site, (), value.scaler),)


UNSCALED, SCALED = "unscaled", "scaled"
"""Details of inner gradients: they were computed unscaled; they were scaled, and stay so."""


def inner_gradient(known: Known, state: PathState, event: InnerGrad) -> Hazards:
    """Gradients for a loss that float16 may have lost, for want of scaling; or that are scaled, and are never unscaled."""
    value = state.facts.value(event.outputs)
    if value is None or value.scaler == UNKNOWN_SCALER or state.protocol.amp_off:
        return ()
    if value.scaler:
        stay = not event.divided and not known.off(state.protocol, value.scaler)
        return (_inner(event, value.scaler, SCALED),) if stay else ()
    scalers = known.enabled_scalers()
    if not value.half or not scalers:
        return ()
    return (_inner(event, scalers[0] if len(scalers) == 1 else "", UNSCALED),)


def _inner(event: InnerGrad, scaler: str, detail: str) -> Hazard:
    return Hazard(HazardKind.GRADIENT_PENALTY_UNSCALED, event.site, (), scaler, details=(detail,))
