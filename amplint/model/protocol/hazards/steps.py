"""Steps: of optimizers past the scaler, of scalers on gradients that were never scaled, of schedulers."""

from __future__ import annotations

from amplint.model.events import OptimizerStep, ScalerStep, SchedulerStep
from amplint.model.protocol.contents import SURELY, Grad, Part, Stepped
from amplint.model.protocol.hazard import Hazard, HazardKind, Hazards
from amplint.model.protocol.hazards.scaling import missing_update, unscaled_backward
from amplint.model.protocol.objects import Known
from amplint.model.protocol.state import ProtocolState
from amplint.model.references import reference


def optimizer_step(known: Known, state: ProtocolState, event: OptimizerStep) -> Hazards:
    """A plain step on gradients that went through a scaler, or should have."""
    grad = state.grad(event.optimizer)
    if known.may_step_through(event.optimizer, grad):
        return ()
    parts = sorted(grad.parts, key=lambda part: part.site)
    scaled = next((part for part in parts if part.kind == "scaled" and not known.off(state, part.scaler)), None)
    if scaled is not None and _steps_scaled(known, state, event, grad, scaled):
        how = "mixed" if grad.kinds != {"scaled"} else "scaled"
        if grad.unscaled_at >= 0:
            how = "again" if grad.by_scaler else "unscaled"
        related = (("scaled", scaled.site),)
        return (Hazard(HazardKind.STEP_BYPASSES_SCALER, event.site, related, scaled.scaler, event.optimizer, (how,)),)
    if grad.kinds == {"plain"} and _lacks_scaler(known, state, parts):
        related = (("step", event.site),)
        # Passes of other optimizers' losses may seem to have added to these gradients: the nearest pass is meant.
        nearest = ([part for part in parts if part.site < event.site] or parts[:1])[-1]
        details = ("beside-scaler",) if known.may_scale else ()
        return (Hazard(HazardKind.FP16_WITHOUT_SCALER, nearest.site, related, "", event.optimizer, details),)
    return ()


def _steps_scaled(known: Known, state: ProtocolState, event: OptimizerStep, grad: Grad, scaled: Part) -> bool:
    """Whether a plain step takes gradients that only the scaler should hand to the optimizer, or has handed to it already."""
    if grad.by_scaler:
        return grad.kinds == {"scaled"} and state.gradients.get(event.optimizer) is not None
    if grad.unscaled_at < 0:
        return grad.kinds == {"scaled"} or (grad.kinds == {"scaled", "plain"} and known.is_only(event.optimizer))
    stage = state.stage(scaled.scaler, event.optimizer)
    unscaled = stage is not None and stage.name == "unscaled"
    return unscaled and grad.kinds == {"scaled"} and state.untested


def _lacks_scaler(known: Known, state: ProtocolState, parts: list[Part]) -> bool:
    """Whether gradients come from float16, and no scaler may have been meant to be left out here: there is none, or it is always
    on and so is the region, so that a branch without the scaler computes in float16 as well."""
    if known.may_scale:
        return known.always_scales and all(part.half == SURELY for part in parts)
    return all(part.half for part in parts) and not state.amp_off


def closure(known: Known, state: ProtocolState, event: ScalerStep) -> Hazards:
    """A closure that a scaler is to hand on; or none, for an optimizer that cannot do without."""
    missing = not event.closure and known.of(event.optimizer).maker.startswith("torch.optim.LBFGS(")
    if known.off(state, event.scaler) or not (event.closure or missing):
        return ()
    details = ("missing" if missing else "given",)
    return (Hazard(HazardKind.CLOSURE_WITH_SCALER, event.site, (), event.scaler, event.optimizer, details),)


def scaler_step(known: Known, state: ProtocolState, event: ScalerStep) -> Hazards:
    """A second step without update; a step on gradients of a loss that was never scaled."""
    if not event.optimizer or (known.off(state, event.scaler) and not known.always_on(event.scaler)):
        return ()
    stage = state.stage(event.scaler, event.optimizer)
    # Behind `unscale_` the step divides nothing: what a plain pass has added since is as large as all the rest.
    divides = stage is None or stage.name != "unscaled"
    plain = unscaled_backward(known, state, event) if divides else ()
    return missing_update(state, event) or plain or _lost(known, state, event)


def _lost(known: Known, state: ProtocolState, event: ScalerStep) -> Hazards:
    """Gradients that were cleared between the backward pass and the step: the scaler finds none."""
    backward, cleared = state.grad(event.optimizer).cleared
    if cleared < 0 or known.off(state, event.scaler):
        return ()
    related = (("backward", backward), ("step", event.site))
    stage = state.stage(event.scaler, event.optimizer)
    details = ("checked",) if stage is not None and stage.name == "unscaled" else ()
    return (Hazard(HazardKind.GRADS_CLEARED_BEFORE_STEP, cleared, related, event.scaler, event.optimizer, details),)


def scheduler_step(known: Known, state: ProtocolState, event: SchedulerStep, loops: tuple[int, ...]) -> Hazards:
    """A scheduler that advances in the loop of a scaler's step, which may have been skipped."""
    owners = known.of(event.scheduler).owners
    taken = [step for _, step in state.stepped.items() if step.loops == loops and not step.asked]
    if set(owners) & set(known.optimizers):
        taken = [step for step in taken if step.optimizer in owners]
    # Of several optimizers, the one that shares a word with the scheduler is meant ("policy_scheduler", "sched_d"), or
    # else the last through a scaler; it may be any of them, where one of these steps by itself.
    words = reference(event.scheduler).words
    likest = max((_likeness(step, words) for step in taken), default=0)
    candidates = [step for step in taken if _likeness(step, words) == likest]
    stepped = max(candidates, key=lambda step: step.site, default=None)
    if stepped is None or not all(step.scaler for step in candidates) or known.off(state, stepped.scaler):
        return ()
    pending = state.stage(stepped.scaler, stepped.optimizer) is not None
    details = ("before-update" if pending else "after-update",)
    related = (("step", stepped.site),)
    return (Hazard(HazardKind.SCHEDULER_NOT_GATED, event.site, related, stepped.scaler, stepped.optimizer, details),)


def _likeness(step: Stepped, words: frozenset[str]) -> int:
    """How many words the optimizer of a step shares with something."""
    return len(reference(step.optimizer).words & words)
