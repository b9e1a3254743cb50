"""What shows without a walk along the code's path: small experiments with the object or the place that a finding is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from amplint.diagnostics import Diagnostic
from amplint.model import observables
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
    observables.BACKWARD_ERROR: autograd_functions.take,
    observables.CHECKED: partial(loss_scale.take, measure=observables.CHECKED),
    observables.CONSTRUCTED: constructions.constructed,
    observables.DAMAGED: nonfinite_steps.unguarded,
    observables.ENTERED: region_entry.take,
    observables.EVALUATED: evaluation_precision.take,
    observables.IN_REPLICA: autocast_threads.in_replica,
    observables.INNER_GRADIENTS: gradient_penalties.take,
    observables.KEPT: copies.handed_over,
    observables.LEFT_ON: autocast_threads.left_on,
    observables.MISTAKEN: skip_tests.take,
    observables.ON_OLD_GPU: old_gpus.take,
    observables.OVERFLOWED: nonfinite_steps.scaled_by_hand,
    observables.REFUSED: half_models.take,
    observables.RESUMED: resumed_runs.take,
    observables.ROUNDED: copies.saved_in_half,
    observables.SKIPPED: partial(loss_scale.take, measure=observables.SKIPPED),
    observables.WARNED: constructions.warned,
}
"""By the names in `amplint.model.observables`; other measures follow a path, see `amplint.runtime.measures.path_measures`."""
