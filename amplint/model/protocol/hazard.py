"""What a hazard is, and which kinds there are."""

from __future__ import annotations

from enum import Enum

from amplint.model.records import changed, frozen
from amplint.model.references import reference


class HazardKind(str, Enum):
    """What goes wrong. The value of a kind is the name of the rule that tells it."""

    BACKWARD_IN_AUTOCAST = "backward-in-autocast"
    CLIP_BEFORE_UNSCALE = "clip-before-unscale"
    CLIP_RAISES_ON_OVERFLOW = "clip-raises-on-overflow"
    CLOSURE_WITH_SCALER = "closure-with-scaler"
    EXIT_BETWEEN_UNSCALE_AND_UPDATE = "exit-between-unscale-and-update"
    FP16_WITHOUT_SCALER = "fp16-without-scaler"
    GRAD_READ_BEFORE_UNSCALE = "grad-read-before-unscale"
    GRADIENT_PENALTY_UNSCALED = "gradient-penalty-unscaled"
    GRADS_CLEARED_BEFORE_STEP = "grads-cleared-before-step"
    MISSING_UPDATE = "missing-update"
    REGION_SPANS_STEPS = "region-spans-steps"
    REPEATED_UNSCALE = "repeated-unscale"
    SCALED_LOSS_REPORTED = "scaled-loss-reported"
    SCHEDULER_NOT_GATED = "scheduler-not-gated"
    STEP_BYPASSES_SCALER = "step-bypasses-scaler"
    UNSCALE_IN_ACCUMULATION = "unscale-in-accumulation"
    UNSCALED_BACKWARD = "unscaled-backward"
    UPDATE_IN_ACCUMULATION = "update-in-accumulation"
    UPDATE_PER_OPTIMIZER = "update-per-optimizer"

    def __str__(self) -> str:
        return self.value


RAISES = "raises"
"""Detail of a hazard that PyTorch reports by itself."""
STEP_LEFT_OUT = "step-left-out"
"""Detail of a second `unscale_`, of other gradients: those of the first were neither stepped nor followed by an update."""


@frozen
class Hazard:
    """A misuse on a feasible path: its kind, its site, and the sites of the other half by label."""

    kind: HazardKind
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
    def is_shown_late(self) -> bool:
        """Whether what unscales gradients shows that they were used too early, and nobody saw how they came about."""
        return (
            self.kind in (HazardKind.CLIP_BEFORE_UNSCALE, HazardKind.GRAD_READ_BEFORE_UNSCALE) and self.at("scaled") < 0
        )

    @property
    def inlined(self) -> bool:
        """Whether the event happened in a function called by the root."""
        return bool(self.calls)

    @property
    def scaler_name(self) -> str:
        """The scaler as the author writes it."""
        return reference(self.scaler).written

    @property
    def optimizer_name(self) -> str:
        """The optimizer as the author writes it."""
        return reference(self.optimizer).written

    def called_at(self, site: int, function: str) -> Hazard:
        """The hazard as the caller shows it: one call further away.

        Args:
            site: where the caller calls.
            function: the key of the function that is called.
        """
        return changed(self, calls=((site, function), *self.calls))

    def at(self, label: str) -> int:
        """The site filed under a label; -1 when there is none."""
        return dict(self.related).get(label, -1)


Hazards = tuple[Hazard, ...]
