"""The protocol: a typestate machine over events. One event turns one state into the next, and may be a hazard.

Both witnesses feed it. Source of the rules: `torch/amp/grad_scaler.py` of PyTorch 2.13 and runs of each misuse against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

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
from amplint.model.protocol.hazards import Hazard, Known, judge
from amplint.model.protocol.state import (
    ANY,
    UNKNOWN_GRAD,
    Entered,
    Grad,
    Part,
    Slot,
    Stage,
    State,
    Stepped,
    Value,
    is_gradient,
)

_LOSS_NAME = re.compile(r"loss|scaled|err|obj|cost", re.IGNORECASE)


Outcome = tuple[State, tuple[Hazard, ...]]


class Protocol:
    """The transitions.

    Args:
        objects: what is known of each reference from its construction.
        nothing_scales: whether the whole program is known to call `scale` nowhere, so that no loss can be scaled.
    """

    def __init__(self, objects: Mapping[str, ObjectFacts], nothing_scales: bool = False) -> None:
        self._known = Known(objects)
        self._nothing_scales = nothing_scales

    def apply(self, state: State, event: Event, loops: tuple[int, ...] = ()) -> Outcome:
        """The state after an event, and the hazards that the event is; `loops` are the sites of the loops around it."""
        after = self._after(weight_cache.after(self._known.owners_of, state, event), event, loops)
        return after, judge(self._known, state, event, loops)

    def _after(self, state: State, event: Event, loops: tuple[int, ...]) -> State:
        match event:
            case Assign():
                return self._assign(state, event)
            case Scale():
                return self._scale(state, event)
            case Backward():
                return self._backward(state, event)
            case Unscale():
                return self._unscale(state, event)
            case ScalerStep():
                return self._scaler_step(state, event, loops)
            case ScalerUpdate():
                return self._update(state, event)
            case ZeroGrad():
                return self._zero_grad(state, event)
            case GradAccess():
                return self._forget_grads(state) if event.writes else state
            case AutocastEnter():
                return state.entering(Entered(event.region, event.site, len(loops)))
            case AutocastExit():
                return state.leaving()
            case Escape():
                return self._escape(state)
            case OptimizerStep():
                return self._optimizer_step(state, event)
            case Leave():
                return self._leave(state, event)
            case Clip() if event.raises:  # an overflow would have ended the iteration here
                return state.put({("untested",): None})
            case Forward() | CacheCleared() | Clip() | SchedulerStep() | Checkpoint() | Report() | InnerGrad():
                return state
        raise TypeError(f"no transition for {type(event).__name__}")

    # -- values ----------------------------------------------------------------------------------------------------

    def _assign(self, state: State, event: Assign) -> State:
        if event.truth is not None:
            of_another = {slot: None for slot, _ in state.having("stage") if slot[1] == event.target}
            return state.put({**of_another, ("value", event.target): None, ("test", f"‹{event.target}›"): event.truth})
        carried, given = ([_operand(state, name) for name in names] for names in (event.carried, event.args))
        half = any(value is not None and value.half for value in (*carried, *given))
        derived = any(value is not None and value.derived for value in (*carried, *given))
        derived = derived or any(value is not None and value.scaler not in ("", "?") for value in given)
        region = state.active_region()
        if event.computes and region is not None and state.records_graph:
            half = half or region.region.dtype == "float16"
        scalers = {self._scaler_in(state, name, event.computes) for name in event.carried}
        known = next((scaler for scaler in sorted(scalers) if scaler not in ("", "?")), None)
        unknown = derived or "?" in scalers or not (event.computes or event.carried)
        scaler = known or ("?" if unknown else "")
        return state.put({("value", event.target): Value(scaler, half and state.records_graph, derived)})

    @staticmethod
    def _scaler_in(state: State, name: str, computes: bool) -> str:
        """The scaler in an operand; an operand that was never seen counts as scaled, perhaps, if it is called a loss."""
        value = _operand(state, name)
        if value is not None:
            return value.scaler
        return "" if computes and name != "?" and not _LOSS_NAME.search(name) else "?"

    def _scale(self, state: State, event: Scale) -> State:
        source = state.value(event.source)
        half = source.half if source is not None else False
        return state.put({("value", event.target): Value(event.scaler or "?", half)})

    # -- gradients -------------------------------------------------------------------------------------------------

    def _backward(self, state: State, event: Backward) -> State:
        value = state.value(event.loss) or Value()
        kind = {"?": "plain" if self._nothing_scales else "unknown", "": "plain"}.get(value.scaler, "scaled")
        part = Part(kind, event.site, value.scaler if kind == "scaled" else "", value.half)
        changes: dict[Slot, object | None] = {}
        for optimizer, grad in state.grads().items():
            waits = bool(grad.parts) and grad.unscaled_at >= 0 and not grad.stepped
            fresh = grad.unscaled_at >= 0 or grad.kinds == {"unknown"}
            parts = frozenset({part}) if fresh else grad.parts | {part}
            # Of several optimizers, this pass may be the first that adds to the gradients of this one.
            updated_at = grad.updated_at if self._known.is_only(optimizer) and not fresh else -1
            changes["grad", optimizer] = Grad(parts, updated_at=updated_at, onto_unscaled=waits or grad.onto_unscaled)
        return state.put(changes)

    def _unscale(self, state: State, event: Unscale) -> State:
        if not event.optimizer:
            return self._forget_grads(state)
        stage: dict[Slot, object | None] = {
            ("stage", event.scaler, event.optimizer): Stage("unscaled", event.site),
            ("untested",): True,
        }
        return state.put(stage | self._with_grad(event, Grad(state.grad(event.optimizer).parts, event.site)))

    def _scaler_step(self, state: State, event: ScalerStep, loops: tuple[int, ...]) -> State:
        if not event.optimizer:
            return self._forget_grads(state)
        before = state.stage(event.scaler, event.optimizer)
        tested = before is not None and before.name == "unscaled" and before.tested
        step = None if tested else Stepped(event.scaler, event.optimizer, event.site, loops)
        stage: dict[Slot, object | None] = {
            ("stage", event.scaler, event.optimizer): Stage("stepped", event.site),
            ("stepped", event.optimizer): step,
        }
        # A step unscales, too.
        grad = Grad(state.grad(event.optimizer).parts, event.site, stepped=True)
        return state.put(stage | self._with_grad(event, grad))

    def _optimizer_step(self, state: State, event: OptimizerStep) -> State:
        grad = state.grad(event.optimizer)
        if not event.optimizer or grad == UNKNOWN_GRAD:
            return state
        if self._known.may_step_through(event.optimizer, grad):
            return self._forget_grads(state)
        passed: dict[Slot, object | None] = {
            slot: replace(stage, name="bypassed")
            for slot, stage in state.having("stage")
            if isinstance(stage, Stage) and slot[2] == event.optimizer and stage.name == "unscaled"
        }
        return state.put(passed | self._with_grad(event, replace(grad, stepped=True)))

    @staticmethod
    def _leave(state: State, event: Leave) -> State:
        unscaled = [(slot, stage) for slot, stage in state.having("stage") if isinstance(stage, Stage)]
        left = {
            slot: replace(stage, left_at=event.site, bad=event.bad)
            for slot, stage in unscaled
            if stage.name == "unscaled" and stage.left_at < 0
        }
        return state.put(left) if left else state

    def _update(self, state: State, event: ScalerUpdate) -> State:
        changes: dict[Slot, object | None] = dict.fromkeys(state.stages(event.scaler))
        if not state.stages(event.scaler):
            return state.put(changes)  # torch refuses an update for which nothing has looked at gradients
        for optimizer, grad in state.grads().items():
            if grad.is_of(event.scaler) and not grad.stepped:
                changes["grad", optimizer] = replace(grad, updated_at=event.site)
        return state.put(changes)

    def _with_grad(
        self, event: Unscale | ScalerStep | OptimizerStep | ZeroGrad, grad: Grad
    ) -> dict[Slot, object | None]:
        """What changes when the gradients of an event's optimizer do; without others they are those of all."""
        changes: dict[Slot, object | None] = {("grad", event.optimizer): grad}
        if self._known.is_only(event.optimizer):
            changes["grad", ANY] = grad
        return changes

    def _zero_grad(self, state: State, event: ZeroGrad) -> State:
        if event.optimizer:
            return state.put(self._with_grad(event, self._cleared(state.grad(event.optimizer), event)))
        owned = self._known.owners_of((event.owner,))
        if owned:
            return state.put({("grad", name): self._cleared(state.grad(name), event) for name in owned})
        return state.put({("grad", name): Grad() for name in state.grads()})

    @staticmethod
    def _cleared(grad: Grad, event: ZeroGrad) -> Grad:
        lost = event.to_none and not grad.stepped and grad.kinds == {"scaled"}
        return Grad(cleared=(min(part.site for part in grad.parts), event.site)) if lost else Grad()

    def _forget_grads(self, state: State) -> State:
        return state.put({("grad", name): UNKNOWN_GRAD for name in state.grads()})

    def _escape(self, state: State) -> State:
        changes: dict[Slot, object | None] = {("grad", name): UNKNOWN_GRAD for name in state.grads()}
        changes |= {slot: None for slot, _ in state.having("stage") + state.having("stepped")}
        return state.put(changes)

    def settle(self, state: State) -> State:
        """The state once the program has asked something that may tell whether a step was, or will be, skipped."""
        return state.put({slot: None for slot, _ in state.having("stepped") + state.having("untested")})

    def settle_tested(self, state: State) -> State:
        """The state once the program has asked for overflows: also of gradients that are unscaled and not stepped yet."""
        tested = {
            slot: replace(stage, tested=True)
            for slot, stage in state.having("stage")
            if isinstance(stage, Stage) and stage.name == "unscaled"
        }
        return self.settle(state).put(tested)

    def settle_updated(self, state: State) -> State:
        """The state once the program knows that a scale did not fall: the steps before that scaler's update were taken.

        Of a scaler that has stepped and not updated, its scale cannot tell yet.
        """
        waiting = {
            slot[1] for slot, stage in state.having("stage") if isinstance(stage, Stage) and stage.name == "stepped"
        }
        told: dict[Slot, object | None] = {} if waiting else {("untested",): None}
        told |= {slot: None for slot, step in state.having("stepped") if _scaler_of(step) not in waiting}
        return state.put(told)


def _operand(state: State, name: str) -> Value | None:
    """What is known of an operand; a gradient that was not seen to be computed is one of unknown scale."""
    if not is_gradient(name) or state.get("value", name) is not None:
        return state.value(name)
    return Value("?", derived=True)


def _scaler_of(step: object) -> str:
    return step.scaler if isinstance(step, Stepped) else ""
