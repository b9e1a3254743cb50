"""Losses that are shown while they are scaled."""

from __future__ import annotations

from amplint.model.events import Report
from amplint.model.hazards.hazard import Hazard, Hazards
from amplint.model.hazards.known import Known
from amplint.model.state import State


def report(known: Known, state: State, event: Report) -> Hazards:
    """A loss that is read out as the scaler has multiplied it."""
    value = state.value(event.value)
    if value is None or value.scaler in ("", "?") or known.off(state, value.scaler):
        return ()
    return (Hazard("scaled-loss-reported", event.site, (), value.scaler),)
