"""What somebody who trains should look at, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.trace.trace_record import TraceRecord

_WARM_UP = 20
"""Steps in which a scale of 65536 may still settle."""
_OFTEN = 0.05


def warnings_of(record: TraceRecord, scales: Sequence[float]) -> list[str]:
    """The warnings on a run.

    Args:
        record: what happened.
        scales: the values that the scale has had, one after the other.
    """
    found = []
    if scales and min(scales) < 1:
        found.append(f"The scale fell to {min(scales):g}, below 1: gradients are made smaller, not larger.")
    late = [step for step in record.steps if step.number > _WARM_UP]
    skipped = sum(not step.taken for step in late)
    if late and skipped > _OFTEN * len(late):
        share = skipped / len(late)
        found.append(
            f"After the first {_WARM_UP} steps, {share:.0%} were skipped: something overflows again and again."
        )
    lost = [step for step in record.steps if step.taken and step.norm is not None and not step.norm < float("inf")]
    if lost:
        found.append(f"Step {lost[0].number} was taken with gradients that are not finite: the weights are lost.")
    if record.lost:
        worst = record.lost[0]
        where = f"of `{worst.module}`" if worst.module else f"behind {worst.place}"
        found.append(f"{worst.share:.0%} of the gradients {where} are lost: float16 makes them zero.")
    return found
