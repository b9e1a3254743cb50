"""The protocol: a typestate machine over events. One event turns one state into the next, and may be a hazard.

Both witnesses feed it. Source of the rules: `torch/amp/grad_scaler.py` of PyTorch 2.13 and runs of each misuse against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from amplint.model.events import (
    Assign,
    AutocastEnter,
    AutocastExit,
    Backward,
    CacheCleared,
    Checkpoint,
    Clip,
    Escape,
    Event,
    Forward,
    GradAccess,
    InnerGrad,
    Leave,
    ObjectFacts,
    OptimizerStep,
    Report,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
    ZeroGrad,
)  # fmt: skip
from amplint.model.protocol import weight_cache
from amplint.model.protocol.contents import (
    UNKNOWN_GRAD,
    UNKNOWN_SCALER,
    Entered,
    Grad,
    Part,
    Stage,
    Stepped,
    Value,
)
from amplint.model.protocol.hazards import Hazard, Known, hazards_at
from amplint.model.protocol.hazards.gradients import early_use
from amplint.model.protocol.path_state import PathFacts, PathState
from amplint.model.protocol.state import ANY, NAMELESS, ProtocolState
from amplint.model.protocol.table import Table
from amplint.model.protocol.value_transitions import after_assignment, after_scaling
from amplint.model.references import reference

Outcome = tuple[PathState, tuple[Hazard, ...]]


class Protocol:
    """The transitions.

    `rests` are the steps (the optimizer, and the loops around) for what a loop has left over: no schedule goes by those.
    `advancing` are the loops around the schedules, None where that is not known: they go by steps in the same loops alone.
    `steps_past` is whether an optimizer may step past its scaler, who asks whether overflows were looked for.
    `unscales` is whether `unscale_` is called, which shows that unknown gradients were used too early.

    Args:
        objects: what is known of each reference from its construction.
        nothing_scales: whether the whole program is known to call `scale` nowhere, so that no loss can be scaled.
        nobody_unscales: whether no code in sight calls `unscale_`, so that a step is what unscales.
    """

    def __init__(
        self, objects: Mapping[str, ObjectFacts], nothing_scales: bool = False, nobody_unscales: bool = False
    ) -> None:
        self._known = Known(objects, nothing_scales, nobody_unscales)
        self._nothing_scales = nothing_scales
        self.rests: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
        self.advancing: frozenset[tuple[int, ...]] | None = None
        self.steps_past = True
        self.unscales = True

    def apply(self, state: PathState, event: Event, loops: tuple[int, ...] = ()) -> Outcome:
        """The state after an event, and the hazards that the event is.

        Args:
            state: the state before.
            event: what happens.
            loops: the sites of the loops around it, the outermost first.
        """
        hazards = hazards_at(self._known, state, event, loops)
        match event:
            case Assign():
                after = after_assignment(state, event)
            case Scale():
                after = after_scaling(state, event)
            case AutocastEnter():
                after = state.entering(Entered(event.region, event.site, len(loops)))
            case AutocastExit():
                after = state.leaving()
            case _:
                kept = weight_cache.after(self._known.owners_of, state, event)
                after = kept.with_protocol(self._after(state.protocol, state.facts, event, loops))
        return after, hazards

    def _after(self, state: ProtocolState, facts: PathFacts, event: Event, loops: tuple[int, ...]) -> ProtocolState:
        """What decides on hazards, after an event that does something to gradients or asks for them."""
        match event:
            case Backward():
                return self._backward(state, facts.value(event.loss) or Value(), event)
            case Unscale():
                return self._unscale(state, event)
            case ScalerStep():
                return self._scaler_step(state, event, loops)
            case ScalerUpdate():
                return self._update(state, event)
            case ZeroGrad():
                return self._zero_grad(state, event)
            case GradAccess():
                return self._forget_grads(state) if event.writes else self._used(state, event)
            case Escape():
                # Steps that were taken stay taken, and what a schedule does after them is no affair of the call.
                return self._forget_grads(state).changed(stages=Table())
            case OptimizerStep():
                return self._optimizer_step(self._stepped_directly(state, event, loops), event)
            case Leave():
                return self._leave(state, event)
            case Clip():
                # Where a clip raises, an overflow would have ended the iteration here.
                return self._used(state.changed(untested=False) if event.raises else state, event)
            case Forward() | CacheCleared() | SchedulerStep() | Checkpoint() | Report() | InnerGrad():
                return state
        raise TypeError(f"no transition for {type(event).__name__}")

    def _backward(self, state: ProtocolState, value: Value, event: Backward) -> ProtocolState:
        unknown = "plain" if self._nothing_scales else "unknown"
        kind = {UNKNOWN_SCALER: unknown, "": "plain"}.get(value.scaler, "scaled")
        part = Part(kind, event.site, value.scaler if kind == "scaled" else "", value.half)
        changes = {optimizer: state.grad(optimizer) for optimizer in self._known.spared(event.sources)}
        for optimizer, grad in state.grads().items():
            if optimizer in changes:
                continue
            waits = bool(grad.parts) and grad.unscaled_at >= 0 and not grad.stepped
            fresh = grad.unscaled_at >= 0 or grad.kinds == {"unknown"}
            parts = frozenset({part}) if fresh else grad.contributions((part,))
            # Of several optimizers, this pass may be the first that adds to the gradients of this one.
            updated_at = grad.updated_at if self._known.is_only(optimizer) and not fresh else -1
            changes[optimizer] = Grad(parts, updated_at=updated_at, onto_unscaled=waits or grad.onto_unscaled)
        return state.with_grads(changes)

    def _used(self, state: ProtocolState, event: Clip | GradAccess) -> ProtocolState:
        """The state once unknown gradients were used: what unscales them later will show that it was too early."""
        names, use = self._known.exactly(event), early_use(event)
        if use is None or not (self._known.nobody_unscales or (names and self.unscales)):
            return state
        if not names and self.steps_past and not self._known.is_only(next(iter(self._known.optimizers), "")):
            return state  # it may be of an optimizer that steps without a scaler
        used = {name: state.grad(name) for name in names or (*self._known.optimizers, ANY)}
        return state.with_grads({name: grad.using(use) for name, grad in used.items() if grad.is_unknown})

    def _unscale(self, state: ProtocolState, event: Unscale) -> ProtocolState:
        if not event.optimizer:
            return self._forget_grads(state)
        if state.stage(event.scaler, NAMELESS) is not None:  # what the name stands for may have another name, too
            grad = state.grad(event.optimizer)
            state = self._forget_grads(state).with_grads({event.optimizer: grad})
        stages = state.stages.put((event.scaler, event.optimizer), Stage("unscaled", event.site))
        grad = Grad(state.grad(event.optimizer).parts, event.site)
        return self._with_grad(
            self._with_parts(state, event).changed(stages=stages, untested=self.steps_past), event, grad
        )

    def _with_parts(self, state: ProtocolState, event: Unscale | ScalerStep) -> ProtocolState:
        """The state once the gradients that an optimizer shares with others are unscaled for all of them."""
        shared = {name: state.grad(name) for name in self._known.parts_of(event.optimizer)}
        return state.with_grads(
            {name: Grad(grad.parts, event.site) for name, grad in shared.items() if grad.still_scaled}
        )

    def _scaler_step(self, state: ProtocolState, event: ScalerStep, loops: tuple[int, ...]) -> ProtocolState:
        if not event.optimizer:
            return self._forget_grads(state)
        before = state.stage(event.scaler, event.optimizer)
        tested = before is not None and before.name == "unscaled" and before.tested
        step = None if tested else self._remembered(Stepped(event.scaler, event.optimizer, event.site, loops))
        stages = state.stages.put((event.scaler, event.optimizer), Stage("stepped", event.site))
        # A step unscales, too.
        grad = Grad(state.grad(event.optimizer).parts, event.site, stepped=True, by_scaler=True)
        stepped = state.stepped.put(event.optimizer, step)
        return self._with_grad(self._with_parts(state, event).changed(stages=stages, stepped=stepped), event, grad)

    def _remembered(self, step: Stepped) -> Stepped | None:
        """A step, if a schedule may go by it."""
        is_rest = bool(step.scaler) and (reference(step.optimizer).written, step.loops) in self.rests
        return None if is_rest or (self.advancing is not None and step.loops not in self.advancing) else step

    def _stepped_directly(self, state: ProtocolState, event: OptimizerStep, loops: tuple[int, ...]) -> ProtocolState:
        """The state once one of several optimizers has stepped past all scalers: a schedule may be of that one."""
        if not event.optimizer or self._known.is_only(event.optimizer):
            return state
        step = self._remembered(Stepped("", event.optimizer, event.site, loops))
        return state.changed(stepped=state.stepped.put(event.optimizer, step))

    def _optimizer_step(self, state: ProtocolState, event: OptimizerStep) -> ProtocolState:
        grad = state.grad(event.optimizer)
        if not event.optimizer or grad == UNKNOWN_GRAD:
            return state
        if grad.used and grad._replace(used=frozenset()) == UNKNOWN_GRAD:
            return self._with_grad(state, event, UNKNOWN_GRAD)
        if self._known.may_step_through(event.optimizer, grad):
            return self._forget_grads(state)
        passed = {
            pair: stage._replace(name="bypassed")
            for pair, stage in state.stages.items()
            if pair[1] == event.optimizer and stage.name == "unscaled"
        }
        return self._with_grad(state.changed(stages=state.stages.put_all(passed)), event, grad._replace(stepped=True))

    @staticmethod
    def _leave(state: ProtocolState, event: Leave) -> ProtocolState:
        left = {
            pair: stage._replace(left_at=event.site, bad=event.bad)
            for pair, stage in state.stages.items()
            if stage.name == "unscaled" and stage.left_at < 0
        }
        return state.changed(stages=state.stages.put_all(left))

    def _update(self, state: ProtocolState, event: ScalerUpdate) -> ProtocolState:
        used = state.stages_of(event.scaler)
        if not used:
            return state  # torch refuses an update for which nothing has looked at gradients
        waiting = {
            optimizer: grad._replace(updated_at=event.site)
            for optimizer, grad in state.grads().items()
            if grad.is_of(event.scaler) and not grad.stepped
        }
        return state.changed(stages=state.stages.without(used)).with_grads(waiting)

    def _with_grad(
        self, state: ProtocolState, event: Unscale | ScalerStep | OptimizerStep | ZeroGrad, grad: Grad
    ) -> ProtocolState:
        """The state with other gradients of an event's optimizer; without other optimizers they are those of all."""
        changes = {event.optimizer: grad}
        if self._known.is_only(event.optimizer):
            changes[ANY] = grad
        return state.with_grads(changes)

    def _zero_grad(self, state: ProtocolState, event: ZeroGrad) -> ProtocolState:
        if event.optimizer:
            return self._with_grad(state, event, _cleared(state.grad(event.optimizer), event))
        owned = self._known.owners_of((event.owner,))
        if owned:
            return state.with_grads({name: _cleared(state.grad(name), event) for name in owned})
        return state.with_grads(dict.fromkeys(state.grads(), Grad()))

    @staticmethod
    def _forget_grads(state: ProtocolState) -> ProtocolState:
        return state.with_grads(dict.fromkeys(state.grads(), UNKNOWN_GRAD))


def _cleared(grad: Grad, event: ZeroGrad) -> Grad:
    """Gradients once they are cleared; in them, where and of what a scaler was still to make use."""
    lost = event.to_none and not grad.stepped and grad.kinds == {"scaled"}
    return Grad(cleared=(min(part.site for part in grad.parts), event.site)) if lost else Grad()
