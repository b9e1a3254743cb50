"""What is wrong: hazards, and the judgement of an event against the state in which it happens.

Args:
    known: what is known of the objects that events name.
    path: the state on the path, with the facts that are known beside the protocol.
    state: the state on the path; for most judges the protocol's.
    event: what happens.
    loops: the sites of the loops around it, the outermost first.
"""

from __future__ import annotations

from amplint.model import events
from amplint.model.protocol.hazard import Hazard, Hazards
from amplint.model.protocol.hazards import gradients, losses, regions, scaling, steps
from amplint.model.protocol.objects import Known
from amplint.model.protocol.path_state import PathState

__all__ = ["Hazard", "Hazards", "Known", "hazards_at"]


def hazards_at(known: Known, path: PathState, event: events.Event, loops: tuple[int, ...]) -> Hazards:
    """The hazards that an event is in a state; `loops` are the sites of the loops around it."""
    state = path.protocol
    match event:
        case events.Unscale(scaler="") | events.ScalerStep(scaler="") | events.ScalerUpdate(scaler=""):
            return ()  # a helper that can take a scaler was given none
        case events.Backward():
            stale, region = regions.stale_weights(path, event), regions.backward(state, event, loops)
            return (*stale, *region, *scaling.onto_unscaled(known, path, event))
        case events.Forward():
            return regions.stale_weights(path, event)
        case events.Unscale():
            late = scaling.after_update(known, state, event)
            return (*late, *scaling.unscale(known, state, event), *gradients.shown_early(known, state, event))
        case events.Clip():
            return gradients.clip(known, state, event)
        case events.GradAccess():
            return gradients.access(known, state, event)
        case events.OptimizerStep():
            return steps.optimizer_step(known, state, event)
        case events.ScalerStep():
            late = scaling.after_update(known, state, event)
            early = gradients.shown_early(known, state, event)
            return (*late, *early, *steps.closure(known, state, event), *steps.scaler_step(known, state, event))
        case events.ScalerUpdate():
            return scaling.update(known, state, event)
        case events.Leave():
            return scaling.leave(known, state, event)
        case events.InnerGrad():
            return losses.inner_gradient(known, path, event)
        case events.Report():
            return losses.report(known, path, event)
        case events.SchedulerStep():
            return steps.scheduler_step(known, state, event, loops)
    return ()
