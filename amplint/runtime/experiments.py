"""What shows without a walk along the code's path: small experiments with the object or the place that a finding is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from amplint.diagnostics import Diagnostic
from amplint.model.observable import (
    BACKWARD_ERROR,
    CHECKED,
    CONSTRUCTED,
    ENTERED,
    EVALUATED,
    INNER_GRADIENTS,
    MISTAKEN,
    ON_OLD_GPU,
    REFUSED,
    RESUMED,
    SKIPPED,
    WARNED,
)
from amplint.rule import File
from amplint.runtime import (
    constructions,
    custom_functions,
    entering,
    evaluating,
    half_parameters,
    hardware,
    inner_gradients,
    resuming,
    scaling,
    skip_tests,
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
    ENTERED: entering.take,
    EVALUATED: evaluating.take,
    INNER_GRADIENTS: inner_gradients.take,
    MISTAKEN: skip_tests.take,
    ON_OLD_GPU: hardware.take,
    REFUSED: half_parameters.take,
    RESUMED: resuming.take,
    SKIPPED: partial(scaling.take, measure=SKIPPED),
    WARNED: constructions.warned,
}
"""By the names in `amplint.model.observable`; other measures follow a path, see `amplint.runtime.measure`."""
