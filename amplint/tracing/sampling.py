"""Which steps of a long run are kept: enough to draw it, and few enough to hold it."""

from __future__ import annotations

from amplint.tracing.step_record import StepRecord

_KEPT = 10_000


class Sampling:
    """All of the first 10,000 steps, then a tenth, of 100,000 on a hundredth, and so on; and 10,000 remarkable ones."""

    def __init__(self) -> None:
        self._remarkable = 0

    def keeps(self, step: StepRecord) -> bool:
        """Whether a step is kept."""
        every = 1
        while step.number > _KEPT * every:
            every *= 10
        if step.number % every == 0:
            return True
        self._remarkable += step.is_remarkable
        return step.is_remarkable and self._remarkable <= _KEPT
