"""What is wrong: hazards, and the judgement of an event against the state in which it happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amplint.model.events import (
    GLOBAL,
    Backward,
    Clip,
    ObjectFacts,
    OptimizerStep,
    ScalerStep,
    SchedulerStep,
    Unscale,
)  # fmt: skip
from amplint.model.state import ANY, Grad, Part, State, Stepped


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
    calls: tuple[tuple[int, str], ...] = ()
    """The calls that led from the root to the event: where each stands, and the key of the function that it enters."""

    @property
    def inlined(self) -> bool:
        """Whether the event happened in a function called by the root."""
        return bool(self.calls)

    def at(self, label: str) -> int:
        """The site filed under a label; -1 when there is none."""
        return dict(self.related).get(label, -1)


Hazards = tuple[Hazard, ...]


class Judge:
    """Judges events. `objects` says what is known of each reference from its construction."""

    def __init__(self, objects: Mapping[str, ObjectFacts]) -> None:
        self._objects = objects
        named = [name for name, facts in objects.items() if facts.role == "optimizer"]
        self._optimizers = [name for name in named if not any(other.startswith(f"{name}[") for other in named)]
        self._has_scaler = any(facts.role in ("scaler", "framework") for facts in objects.values())

    # -- objects ---------------------------------------------------------------------------------------------------

    def is_only(self, optimizer: str) -> bool:
        """Whether no other optimizer is known."""
        return self._optimizers in ([], [optimizer])

    def owners_of(self, references: Iterable[str]) -> list[str]:
        """The optimizers whose parameters come from one of these references."""
        wanted = set(references)
        return [name for name in self._optimizers if wanted & set(self._objects[name].owners)]

    def _off(self, state: State, scaler: str) -> bool:
        return state.amp_off or self._objects.get(scaler, ObjectFacts()).enabled == "no"

    def _always_on(self, scaler: str) -> bool:
        """Whether a scaler is enabled even where the program thinks that AMP is off."""
        facts = self._objects.get(scaler, ObjectFacts())
        return facts.made and facts.enabled == "yes"

    # -- gradients -------------------------------------------------------------------------------------------------

    def backward(self, state: State, event: Backward, loops: tuple[int, ...]) -> Hazards:
        """A backward pass inside an enabled region; "spans" when loops lie between region and backward pass."""
        entered = state.active_region()
        if entered is None or (state.amp_off and entered.region.enabled == "maybe"):
            return ()
        spans = "spans" if len(loops) > entered.loops else ""
        return (Hazard("backward-in-autocast", event.site, (("region", entered.site),), details=(spans,)),)

    def clip(self, state: State, event: Clip) -> Hazards:
        """A clip of gradients that are all still scaled."""
        owners = [event.optimizer] if event.optimizer else self.owners_of(event.owners)
        if not owners and len(self._optimizers) == 1:
            owners = self._optimizers
        met = {name: grad for name, grad in state.grads().items() if name != ANY}
        concerned = [state.grad(owner) for owner in owners] or list(met.values()) or [state.grad(ANY)]
        if not all(grad.still_scaled for grad in concerned):
            return ()
        part = min((part for grad in concerned for part in grad.parts), key=lambda part: part.site)
        if self._off(state, part.scaler):
            return ()
        optimizer = owners[0] if len(owners) == 1 else ""
        related = (("scaled", part.site),)
        return (Hazard("clip-before-unscale", event.site, related, part.scaler, optimizer, (event.by, event.limit)),)

    def unscale(self, state: State, event: Unscale) -> Hazards:
        """`unscale_` after a step that no update followed."""
        return () if state.amp_off else self._missing_update(state, event)

    def _missing_update(self, state: State, event: Unscale | ScalerStep) -> Hazards:
        stage = state.get("stage", event.scaler, event.optimizer)
        if not isinstance(stage, tuple) or stage[0] != "stepped":
            return ()
        return (Hazard("missing-update", stage[1], (("next", event.site),), event.scaler, event.optimizer),)

    # -- steps -----------------------------------------------------------------------------------------------------

    def optimizer_step(self, state: State, event: OptimizerStep) -> Hazards:
        """A plain step on gradients that went through a scaler, or should have."""
        grad = state.grad(event.optimizer)
        parts = sorted(grad.parts, key=lambda part: part.site)
        scaled = next((part for part in parts if part.kind == "scaled" and not self._off(state, part.scaler)), None)
        if scaled is not None and self._steps_scaled(state, event, grad, scaled):
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
            return grad.kinds == {"scaled"} or (grad.kinds == {"scaled", "plain"} and self.is_only(event.optimizer))
        stage = state.get("stage", scaled.scaler, event.optimizer)
        unscaled = isinstance(stage, tuple) and stage[0] == "unscaled"
        return unscaled and grad.kinds == {"scaled"} and state.get("untested") is True

    def scaler_step(self, state: State, event: ScalerStep) -> Hazards:
        """A second step without update; a step on gradients of a loss that was never scaled."""
        if not event.optimizer or (self._off(state, event.scaler) and not self._always_on(event.scaler)):
            return ()
        missing = self._missing_update(state, event)
        grad = state.grad(event.optimizer)
        mixed = grad.kinds == {"plain", "scaled"} and self.is_only(event.optimizer)
        if missing or not (grad.kinds == {"plain"} or mixed):
            return missing
        plain = sorted((part for part in grad.parts if part.kind == "plain"), key=lambda part: part.site)
        related = (("step", event.site),)
        return tuple(Hazard("unscaled-backward", part.site, related, event.scaler, event.optimizer) for part in plain)

    def scheduler_step(self, state: State, event: SchedulerStep, loops: tuple[int, ...]) -> Hazards:
        """A scheduler that advances in the loop of a scaler's step, which may have been skipped."""
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

    def step_in_region(self, state: State, event: OptimizerStep | ScalerStep, loops: tuple[int, ...]) -> Hazards:
        """A region that spans several steps: its cache of cast weights grows stale."""
        entered = state.active_region()
        if entered is None or len(loops) <= entered.loops:
            return ()
        return (Hazard("region-spans-steps", entered.site, (("step", event.site),)),)


def _words(reference: str) -> set[str]:
    return set(reference.rpartition(".")[2].removeprefix(GLOBAL).lower().split("_"))
