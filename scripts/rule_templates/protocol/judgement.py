"""Say what goes wrong, and at which events."""

from __future__ import annotations

from amplint.model.events import ScalerStep
from amplint.model.protocol.hazard import Hazard, HazardKind, Hazards
from amplint.model.protocol.objects import Known
from amplint.model.protocol.state import ProtocolState


def scaler_step(known: Known, state: ProtocolState, event: ScalerStep) -> Hazards:
    """Say in which state the event is a hazard; it happens in every state that some path leads to."""
    region = state.active_region
    if region is None or known.off(state, event.scaler):
        return ()
    related = (("region", region.site),)
    return (Hazard(HazardKind.SOME_BAD_PATTERN, event.site, related, event.scaler, event.optimizer),)
