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
from amplint.runtime import (
    constructions,
    copies,
    custom_functions,
    damage,
    entering,
    evaluating,
    half_parameters,
    hardware,
    inner_gradients,
    resuming,
    scaling,
    skip_tests,
    threads,
)
from amplint.runtime.measurement import Measurement


class Experiment(Protocol):
    """Measures in the file as it stands, and in the one with the fix of a finding.

    Raises:
        NotReplayable: it cannot.
    """

    def __call__(
        self, before: File, after: File, diagnostic: Diagnostic, /, *, device: str, seed: int
    ) -> Measurement: ...


EXPERIMENTS: Mapping[str, Experiment] = {
    BACKWARD_ERROR: custom_functions.take,
    CHECKED: partial(scaling.take, measure=CHECKED),
    CONSTRUCTED: constructions.constructed,
    DAMAGED: damage.unguarded,
    ENTERED: entering.take,
    EVALUATED: evaluating.take,
    IN_REPLICA: threads.in_replica,
    INNER_GRADIENTS: inner_gradients.take,
    KEPT: copies.handed_over,
    LEFT_ON: threads.left_on,
    MISTAKEN: skip_tests.take,
    ON_OLD_GPU: hardware.take,
    OVERFLOWED: damage.scaled_by_hand,
    REFUSED: half_parameters.take,
    RESUMED: resuming.take,
    ROUNDED: copies.saved_in_half,
    SKIPPED: partial(scaling.take, measure=SKIPPED),
    WARNED: constructions.warned,
}
"""By the names in `amplint.model.observables`; other measures follow a path, see `amplint.runtime.measure`."""
