"""The protocol: a typestate machine over events. One event turns one state into the next, and may be a hazard.

Both witnesses feed it. Source of the rules: `torch/amp/grad_scaler.py` of PyTorch 2.13 and runs of each misuse against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amplint.model.events import (
    GLOBAL,
    Assign,
    Backward,
    Clip,
    Escape,
    Event,
    GradAccess,
    ObjectFacts,
    OptimizerStep,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
    ZeroGrad,
)  # fmt: skip
from amplint.model.state import ANY, UNKNOWN_GRAD, Grad, Part, Slot, State, Stepped, Value

_LOSS_NAME = re.compile(r"loss|scaled|err|obj|cost", re.IGNORECASE)


@dataclass(frozen=True)
class Hazard:
    """A misuse on a feasible path: its kind, its site, and the sites of the other half by label."""

    kind: str
    site: int
    related: tuple[tuple[str, int], ...] = ()
    scaler: str = ""
    optimizer: str = ""
    details: tuple[str, ...] = ()
    root: str = ""
    """The function whose path showed it."""
    inlined: bool = False
    """Whether the event happened in a function called by the root."""

    def at(self, label: str) -> int:
        """The site filed under a label; -1 when there is none."""
        return dict(self.related).get(label, -1)


Outcome = tuple[State, tuple[Hazard, ...]]


class Protocol:
    """The transitions.

    Args:
        objects: what is known of each reference from its construction.
        nothing_scales: whether the whole program is known to call `scale` nowhere, so that no loss can be scaled.
    """

    def __init__(self, objects: Mapping[str, ObjectFacts], nothing_scales: bool = False) -> None:
        self._objects = objects
        self._nothing_scales = nothing_scales
        named = [name for name, facts in objects.items() if facts.role == "optimizer"]
        self._optimizers = [name for name in named if not any(other.startswith(f"{name}[") for other in named)]
        self._has_scaler = any(facts.role in ("scaler", "framework") for facts in objects.values())

    def apply(self, state: State, event: Event, loops: tuple[int, ...] = ()) -> Outcome:
        """The state after an event, and the hazards that the event is; `loops` are the sites of the loops around it."""
        match event:
            case Assign():
                return self._assign(state, event), ()
            case Scale():
                return self._scale(state, event), ()
            case Backward():
                return self._backward(state, event, loops)
            case Unscale():
                return self._unscale(state, event)
            case Clip():
                return state, self._clip(state, event)
            case GradAccess():
                return (self._forget_grads(state) if event.writes else state), ()
            case OptimizerStep():
                return state, (*self._spanning(state, event.site, loops), *self._optimizer_step(state, event))
            case ScalerStep():
                after, hazards = self._scaler_step(state, event, loops)
                return after, (*self._spanning(state, event.site, loops), *hazards)
            case ScalerUpdate():
                return state.put({slot: None for slot, _ in state.having("stage") if slot[1] == event.scaler}), ()
            case ZeroGrad():
                return self._zero_grad(state, event), ()
            case SchedulerStep():
                return state, self._scheduler_step(state, event, loops)
            case Escape():
                return self._escape(state, event), ()
        raise TypeError(f"no transition for {type(event).__name__}")

    # -- values ----------------------------------------------------------------------------------------------------

    def _assign(self, state: State, event: Assign) -> State:
        if event.truth is not None:
            return state.put({("value", event.target): None, ("test", f"‹{event.target}›"): event.truth})
        carried = [state.value(name) for name in event.carried]
        half = any(value is not None and value.half for value in (*carried, *map(state.value, event.args)))
        region = state.active_region()
        if event.computes and region is not None and state.records_graph:
            half = half or region.region.dtype == "float16"
        scalers = {self._scaler_in(state, name, event.computes) for name in event.carried}
        known = next((scaler for scaler in sorted(scalers) if scaler not in ("", "?")), None)
        scaler = known or ("?" if "?" in scalers or not (event.computes or event.carried) else "")
        return state.put({("value", event.target): Value(scaler, half and state.records_graph)})

    @staticmethod
    def _scaler_in(state: State, name: str, computes: bool) -> str:
        """The scaler in an operand; an operand that was never seen counts as scaled, perhaps, if it is called a loss."""
        value = state.value(name)
        if value is not None:
            return value.scaler
        return "" if computes and name != "?" and not _LOSS_NAME.search(name) else "?"

    def _scale(self, state: State, event: Scale) -> State:
        source = state.value(event.source)
        half = source.half if source is not None else False
        return state.put({("value", event.target): Value(event.scaler, half)})

    # -- gradients -------------------------------------------------------------------------------------------------

    def _backward(self, state: State, event: Backward, loops: tuple[int, ...]) -> Outcome:
        value = state.value(event.loss) or Value()
        kind = {"?": "plain" if self._nothing_scales else "unknown", "": "plain"}.get(value.scaler, "scaled")
        part = Part(kind, event.site, value.scaler if kind == "scaled" else "", value.half)
        changes: dict[Slot, object | None] = {}
        for optimizer, grad in state.grads().items():
            fresh = grad.unscaled_at >= 0 or grad.kinds == {"unknown"}
            changes["grad", optimizer] = Grad(frozenset({part}) if fresh else grad.parts | {part})
        return state.put(changes), self._backward_in_region(state, event, loops)

    def _backward_in_region(self, state: State, event: Backward, loops: tuple[int, ...]) -> tuple[Hazard, ...]:
        entered = state.active_region()
        if entered is None or (state.amp_off and entered.region.enabled == "maybe"):
            return ()
        spans = "spans" if len(loops) > entered.loops else ""
        return (Hazard("backward-in-autocast", event.site, (("region", entered.site),), details=(spans,)),)

    def _unscale(self, state: State, event: Unscale) -> Outcome:
        if not event.optimizer:
            return self._forget_grads(state), ()
        hazards: tuple[Hazard, ...] = ()
        stage = state.get("stage", event.scaler, event.optimizer)
        if isinstance(stage, tuple) and stage[0] == "stepped" and not state.amp_off:
            hazards = (Hazard("missing-update", stage[1], (("next", event.site),), event.scaler, event.optimizer),)
        grad = Grad(state.grad(event.optimizer).parts, event.site)
        changes: dict[Slot, object | None] = {
            ("grad", event.optimizer): grad,
            ("stage", event.scaler, event.optimizer): ("unscaled", event.site),
            ("untested",): True,
        }
        if self._is_only(event.optimizer):
            changes["grad", ANY] = grad
        return state.put(changes), hazards

    def _zero_grad(self, state: State, event: ZeroGrad) -> State:
        if event.optimizer:
            changes: dict[Slot, object | None] = {("grad", event.optimizer): Grad()}
            if self._is_only(event.optimizer):
                changes["grad", ANY] = Grad()
            return state.put(changes)
        owned = self.owners_of((event.owner,))
        return state.put({("grad", name): Grad() for name in owned or state.grads()})

    def _forget_grads(self, state: State) -> State:
        return state.put({("grad", name): UNKNOWN_GRAD for name in state.grads()})

    def _escape(self, state: State, event: Escape) -> State:
        changes: dict[Slot, object | None] = {("grad", name): UNKNOWN_GRAD for name in state.grads()}
        changes |= {slot: None for slot, _ in state.having("stage") + state.having("stepped")}
        return state.put(changes)

    def settle(self, state: State) -> State:
        """The state once the program has asked something that may tell whether a step was, or will be, skipped."""
        return state.put({slot: None for slot, _ in state.having("stepped") + state.having("untested")})

    def has_pending_step(self, state: State) -> bool:
        """Whether a scaler has stepped and not updated, so that its scale cannot tell yet whether it skipped."""
        return any(isinstance(stage, tuple) and stage[0] == "stepped" for _, stage in state.having("stage"))

    def _is_only(self, optimizer: str) -> bool:
        return self._optimizers in ([], [optimizer])

    def owners_of(self, references: Iterable[str]) -> list[str]:
        """The optimizers whose parameters come from one of these references."""
        wanted = set(references)
        return [name for name in self._optimizers if wanted & set(self._objects[name].owners)]

    # -- hazards ---------------------------------------------------------------------------------------------------

    def _off(self, state: State, scaler: str) -> bool:
        return state.amp_off or self._objects.get(scaler, ObjectFacts()).enabled == "no"

    def _always_on(self, scaler: str) -> bool:
        """Whether a scaler is enabled even where the program thinks that AMP is off."""
        facts = self._objects.get(scaler, ObjectFacts())
        return facts.made and facts.enabled == "yes"

    def _clip(self, state: State, event: Clip) -> tuple[Hazard, ...]:
        owners = [event.optimizer] if event.optimizer else self.owners_of(event.owners)
        grads = state.grads()
        if owners:
            concerned = [state.grad(owner) for owner in owners]
        else:
            concerned = [
                grad for name, grad in grads.items() if name != ANY or len(grads) == 1 or not grad.unscaled_at < 0
            ]
            concerned = concerned or list(grads.values())
        if not concerned or not all(grad.still_scaled for grad in concerned):
            return ()
        part = min((part for grad in concerned for part in grad.parts), key=lambda part: part.site)
        if self._off(state, part.scaler):
            return ()
        if len(owners) != 1:
            owners = self._optimizers if len(self._optimizers) == 1 else []
        optimizer = owners[0] if owners else ""
        return (
            Hazard(
                "clip-before-unscale",
                event.site,
                (("scaled", part.site),),
                part.scaler,
                optimizer,
                (event.by, event.limit),
            ),
        )

    def _optimizer_step(self, state: State, event: OptimizerStep) -> tuple[Hazard, ...]:
        grad = state.grad(event.optimizer)
        parts = sorted(grad.parts, key=lambda part: part.site)
        scaled = next((part for part in parts if part.kind == "scaled"), None)
        if (
            scaled is not None
            and not self._off(state, scaled.scaler)
            and self._steps_scaled(state, event, grad, scaled)
        ):
            how = "unscaled" if grad.unscaled_at >= 0 else "mixed" if grad.kinds != {"scaled"} else "scaled"
            related = (("scaled", scaled.site),)
            return (Hazard("step-bypasses-scaler", event.site, related, scaled.scaler, event.optimizer, (how,)),)
        if grad.kinds == {"plain"} and all(part.half for part in parts) and not self._has_scaler and not state.amp_off:
            related = (("step", event.site),)
            return (Hazard("fp16-without-scaler", parts[0].site, related, "", event.optimizer),)
        return ()

    def _steps_scaled(self, state: State, event: OptimizerStep, grad: Grad, scaled: Part) -> bool:
        """Whether a plain step takes gradients that only the scaler should hand to the optimizer."""
        if grad.unscaled_at < 0:
            return grad.kinds == {"scaled"} or (grad.kinds == {"scaled", "plain"} and self._is_only(event.optimizer))
        stage = state.get("stage", scaled.scaler, event.optimizer)
        unscaled = isinstance(stage, tuple) and stage[0] == "unscaled"
        return unscaled and grad.kinds == {"scaled"} and state.get("untested") is True

    def _scaler_step(self, state: State, event: ScalerStep, loops: tuple[int, ...]) -> Outcome:
        hazards: list[Hazard] = []
        if event.optimizer and (not self._off(state, event.scaler) or self._always_on(event.scaler)):
            stage = state.get("stage", event.scaler, event.optimizer)
            if isinstance(stage, tuple) and stage[0] == "stepped":
                related = (("next", event.site),)
                hazards.append(Hazard("missing-update", stage[1], related, event.scaler, event.optimizer))
            grad = state.grad(event.optimizer)
            stepped = isinstance(stage, tuple) and stage[0] == "stepped"
            mixed = grad.kinds == {"plain", "scaled"} and self._is_only(event.optimizer)
            if (grad.kinds == {"plain"} or mixed) and not stepped:
                for part in sorted((part for part in grad.parts if part.kind == "plain"), key=lambda part: part.site):
                    related = (("step", event.site),)
                    hazards.append(Hazard("unscaled-backward", part.site, related, event.scaler, event.optimizer))
        if not event.optimizer:
            return self._forget_grads(state), tuple(hazards)
        grad = Grad(state.grad(event.optimizer).parts, event.site)
        changes: dict[Slot, object | None] = {
            ("grad", event.optimizer): grad,
            ("stage", event.scaler, event.optimizer): ("stepped", event.site),
            ("stepped", event.optimizer): Stepped(event.scaler, event.optimizer, event.site, loops),
        }
        if self._is_only(event.optimizer):
            changes["grad", ANY] = grad
        return state.put(changes), tuple(hazards)

    def _scheduler_step(self, state: State, event: SchedulerStep, loops: tuple[int, ...]) -> tuple[Hazard, ...]:
        owners = self._objects.get(event.scheduler, ObjectFacts()).owners
        candidates = [step for _, step in state.having("stepped") if isinstance(step, Stepped) and step.loops == loops]
        if set(owners) & set(self._optimizers):
            candidates = [step for step in candidates if step.optimizer in owners]
        # Of several optimizers, the one that shares a word with the scheduler is meant ("policy_scheduler", "sched_d"), or
        # else the last.
        words = _words(event.scheduler)
        stepped = max(candidates, key=lambda step: (len(_words(step.optimizer) & words), step.site), default=None)
        if stepped is None or self._off(state, stepped.scaler):
            return ()
        pending = state.get("stage", stepped.scaler, stepped.optimizer) is not None
        details = ("before-update" if pending else "after-update",)
        related = (("step", stepped.site),)
        return (Hazard("scheduler-not-gated", event.site, related, stepped.scaler, stepped.optimizer, details),)

    def _spanning(self, state: State, site: int, loops: tuple[int, ...]) -> tuple[Hazard, ...]:
        entered = state.active_region()
        if entered is None or len(loops) <= entered.loops:
            return ()
        return (Hazard("region-spans-steps", entered.site, (("step", site),)),)


def _words(reference: str) -> set[str]:
    return set(reference.rpartition(".")[2].removeprefix(GLOBAL).lower().split("_"))
