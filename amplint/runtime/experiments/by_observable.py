"""What shows without a walk along the code's path: small experiments with the object or the place that a finding is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from amplint.diagnostics import Diagnostic
from amplint.model.observables import (
    BACKWARD_ERROR,
    CHECKED,
    CONSTRUCTED,
    DAMAGED,
    ENTERED,
    EVALUATED,
    IN_REPLICA,
    INNER_GRADIENTS,
    KEPT,
    LEFT_ON,
    MISTAKEN,
    ON_OLD_GPU,
    OVERFLOWED,
    REFUSED,
    RESUMED,
    ROUNDED,
    SKIPPED,
    WARNED,
)
from amplint.rule import File
from amplint.runtime.experiments import (
    autocast_threads,
    autograd_functions,
    constructions,
    copies,
    evaluation_precision,
    gradient_penalties,
    half_models,
    loss_scale,
    nonfinite_steps,
    old_gpus,
    region_entry,
    resumed_runs,
    skip_tests,
)
from amplint.runtime.measures.measurement import Measurement


class Experiment(Protocol):
    """Measures in the file as it stands, and in the one with the fix of a finding.

    Raises:
        NotReplayable: it cannot.
    """

    def __call__(
        self, before: File, after: File, diagnostic: Diagnostic, /, *, device: str, seed: int
    ) -> Measurement: ...


EXPERIMENTS: Mapping[str, Experiment] = {
    BACKWARD_ERROR: autograd_functions.take,
    CHECKED: partial(loss_scale.take, measure=CHECKED),
    CONSTRUCTED: constructions.constructed,
    DAMAGED: nonfinite_steps.unguarded,
    ENTERED: region_entry.take,
    EVALUATED: evaluation_precision.take,
    IN_REPLICA: autocast_threads.in_replica,
    INNER_GRADIENTS: gradient_penalties.take,
    KEPT: copies.handed_over,
    LEFT_ON: autocast_threads.left_on,
    MISTAKEN: skip_tests.take,
    ON_OLD_GPU: old_gpus.take,
    OVERFLOWED: nonfinite_steps.scaled_by_hand,
    REFUSED: half_models.take,
    RESUMED: resumed_runs.take,
    ROUNDED: copies.saved_in_half,
    SKIPPED: partial(loss_scale.take, measure=SKIPPED),
    WARNED: constructions.warned,
}
"""By the names in `amplint.model.observables`; other measures follow a path, see `amplint.runtime.measures.path_measures`."""
