"""The scaler's own round of an iteration: `unscale_` once, after the last backward pass; `update` once, after the last step."""

from __future__ import annotations

from amplint.model.events import Backward, Leave, ScalerStep, ScalerUpdate, Unscale
from amplint.model.protocol.contents import Grad, Stage
from amplint.model.protocol.hazard import RAISES, STEP_LEFT_OUT, Hazard, HazardKind, Hazards
from amplint.model.protocol.objects import Known
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.state import ANY, ProtocolState


def onto_unscaled(known: Known, path: PathState, event: Backward) -> Hazards:
    """A scaled backward pass that adds to gradients which are unscaled already, and have not been used yet.

    Of several optimizers nobody knows whose gradients a backward pass adds to, until the next `unscale_` raises.
    """
    state, value = path.protocol, path.facts.value(event.loss)
    if value is None or not value.is_scaled or known.off(state, value.scaler):
        return ()
    found: Hazards = ()
    for optimizer, grad in state.grads().items():
        if optimizer == ANY or not known.is_only(optimizer) or not _awaits_step(grad, value.scaler):
            continue
        stage = state.stage(value.scaler, optimizer)
        if stage is not None and stage.bad:
            continue  # no accumulation: the next `unscale_` tells what is wrong
        found += (_accumulates(grad.unscaled_at, value.scaler, optimizer, backward=event.site),)
        if grad.updated_at >= 0:
            related = (("backward", event.site),)
            found += (Hazard(HazardKind.UPDATE_IN_ACCUMULATION, grad.updated_at, related, value.scaler, optimizer),)
    return found


def _accumulates(site: int, scaler: str, optimizer: str, *details: str, backward: int) -> Hazard:
    return Hazard(HazardKind.UNSCALE_IN_ACCUMULATION, site, (("backward", backward),), scaler, optimizer, details)


def _awaits_step(grad: Grad, scaler: str) -> bool:
    """Whether gradients are unscaled, and no step has used them."""
    return grad.unscaled_at >= 0 and not grad.stepped and grad.is_of(scaler)


def _was_unscaled_among_others(grad: Grad, scaler: str) -> bool:
    """Whether a scaler has unscaled gradients, to which losses of another scaler may have added as far as anybody sees."""
    scaled = grad.kinds == {"scaled"} and scaler in {part.scaler for part in grad.parts}
    return scaled and grad.unscaled_at >= 0 and not (grad.stepped or grad.onto_unscaled)


def unscale(known: Known, state: ProtocolState, event: Unscale) -> Hazards:
    """`unscale_` a second time: with a backward pass in between, without, after an early exit, or after a branch that left the
    step and the update out; or a step without update."""
    if known.off(state, event.scaler) or not event.optimizer:
        return ()
    stage, grad = state.stage(event.scaler, event.optimizer), state.grad(event.optimizer)
    if stage is None or stage.name == "stepped":
        return missing_update(state, event) or (unscaled_backward(known, state, event) if grad.unscaled_at < 0 else ())
    if _awaits_step(grad, event.scaler) or _was_unscaled_among_others(grad, event.scaler):
        related = (("first", stage.site),)
        return (Hazard(HazardKind.REPEATED_UNSCALE, event.site, related, event.scaler, event.optimizer, (RAISES,)),)
    if stage.left_at >= 0 and grad.still_scaled and (stage.bad or not grad.onto_unscaled):
        return (_left(stage, event),)
    if grad.onto_unscaled:
        backward = min(part.site for part in grad.parts)
        return (_accumulates(stage.site, event.scaler, event.optimizer, RAISES, backward=backward),)
    if stage.left_at < 0 and stage.name == "unscaled" and grad.still_scaled and grad.is_of(event.scaler):
        related = (("first", stage.site),)
        details = (RAISES, STEP_LEFT_OUT)
        return (Hazard(HazardKind.REPEATED_UNSCALE, event.site, related, event.scaler, event.optimizer, details),)
    return ()


def leave(known: Known, state: ProtocolState, event: Leave) -> Hazards:
    """An early exit from a whole iteration, after `unscale_`: the next one begins with a second `unscale_`."""
    if not event.last:
        return ()
    kind = HazardKind.EXIT_BETWEEN_UNSCALE_AND_UPDATE
    return tuple(
        Hazard(kind, event.site, (("unscaled", stage.site),), scaler, optimizer, (RAISES,))
        for (scaler, optimizer), stage in state.stages.items()
        if stage.name == "unscaled" and not known.off(state, scaler)
    )


def _left(stage: Stage, event: Unscale) -> Hazard:
    related = (("unscaled", stage.site), ("next", event.site))
    kind = HazardKind.EXIT_BETWEEN_UNSCALE_AND_UPDATE
    return Hazard(kind, stage.left_at, related, event.scaler, event.optimizer, (RAISES,))


def missing_update(state: ProtocolState, event: Unscale | ScalerStep) -> Hazards:
    """A second turn of the scaler after a step that no update followed."""
    stage = state.stage(event.scaler, event.optimizer)
    if stage is None or stage.name != "stepped":
        return ()
    return (Hazard(HazardKind.MISSING_UPDATE, stage.site, (("next", event.site),), event.scaler, event.optimizer),)


def unscaled_backward(known: Known, state: ProtocolState, event: Unscale | ScalerStep) -> Hazards:
    """The scaler divides gradients by the scale that nothing has multiplied by it."""
    grad = state.grad(event.optimizer)
    mixed = grad.kinds == {"plain", "scaled"} and known.is_only(event.optimizer)
    if not (grad.kinds == {"plain"} or mixed):
        return ()
    plain = sorted((part for part in grad.parts if part.kind == "plain"), key=lambda part: part.site)
    related = (("step", event.site),)
    return tuple(
        Hazard(HazardKind.UNSCALED_BACKWARD, part.site, related, event.scaler, event.optimizer) for part in plain
    )


def after_update(known: Known, state: ProtocolState, event: Unscale | ScalerStep) -> Hazards:
    """Gradients that were scaled before an update are unscaled by the scale after it."""
    grad = state.grad(event.optimizer)
    if not event.optimizer or known.off(state, event.scaler):
        return ()
    if grad.updated_at < 0 or grad.stepped or not grad.still_scaled or not grad.is_of(event.scaler):
        return ()
    related = (("step", event.site),)
    return (Hazard(HazardKind.UPDATE_PER_OPTIMIZER, grad.updated_at, related, event.scaler, event.optimizer),)


def update(known: Known, state: ProtocolState, event: ScalerUpdate) -> Hazards:
    """An update although nothing has looked at the gradients since the last one."""
    if event.given or known.off(state, event.scaler) or state.stages_of(event.scaler):
        return ()
    met = state.grads()
    every = met.pop(ANY)
    scaled = {
        name: grad for name, grad in (met or {"": every}).items() if grad.still_scaled and grad.is_of(event.scaler)
    }
    waiting = {name: grad for name, grad in scaled.items() if not grad.stepped}
    if not waiting or len(waiting) < len(scaled):  # an optimizer was stepped past the scaler: that is why
        return ()
    optimizer = next(iter(waiting)) if len(waiting) == 1 else ""
    backward = min(part.site for grad in waiting.values() for part in grad.parts)
    related, details = (("backward", backward),), (RAISES,)
    return (Hazard(HazardKind.UPDATE_IN_ACCUMULATION, event.site, related, event.scaler, optimizer, details),)
