"""What somebody who trains should look at, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from amplint.tracing.step_record import StepTotals
from amplint.tracing.steps import WARM_UP
from amplint.tracing.trace_record import ENOUGH, LostGradients, ScheduleAhead, TraceRecord

_OFTEN = 0.05
_MANY = 8
"""Steps in which a scale of 65536 should have found its place."""
_HARD = 0.5
"""The share of a gradient that a clip leaves, from which on down it is the clip that sets the length."""


def warnings_of(record: TraceRecord, schedules: Sequence[ScheduleAhead]) -> list[str]:
    """The warnings on a run.

    Args:
        record: what happened.
        schedules: those that are ahead of their optimizers.
    """
    return [
        *_on_steps(record.totals),
        *_on_clips(record),
        *map(_on_schedule, schedules),
        *_on_lost_gradients(record.lost),
    ]


def _on_steps(totals: StepTotals) -> Iterator[str]:
    if totals.lowest_scale < 1:
        yield f"The scale fell to {totals.lowest_scale:g}, below 1: gradients are made smaller, not larger."
    if totals.skipped == totals.tried >= _MANY:
        yield f"None of the {totals.tried} steps was taken: nothing is learned."
    if totals.late_skipped > max(_OFTEN * totals.late, 1):
        share = totals.late_skipped / totals.late
        yield f"After the first {WARM_UP} steps, {share:.0%} were skipped: something overflows again and again."
    if totals.lost:
        yield f"Step {totals.lost} was taken with gradients that are not finite: the weights are lost."


def _on_clips(record: TraceRecord) -> Iterator[str]:
    """Norms that are clipped in every step, and far: then all updates have one length, and the loss says nothing on it."""
    kept = median([step.kept for step in record.steps if step.taken and step.kept is not None] or [1.0])
    if record.totals.cuts == record.totals.clipped >= WARM_UP and kept < _HARD:
        yield (
            f"Clipping has cut the gradients of all {record.totals.cuts} steps, to {kept:.2g} of their norm in the median: "
            "the limit, not the gradient, sets how far each step goes."
        )


def _on_schedule(one: ScheduleAhead) -> str:
    return (
        f"The schedule is ahead of the steps: {one.place} has advanced it {one.advances} times, "
        f"{one.ahead} of them although the optimizer took no step."
    )


def _on_lost_gradients(lost: Sequence[LostGradients]) -> Iterator[str]:
    if lost:
        worst, others = lost[0], len(lost) - 1
        where = f"of `{worst.module}`" if worst.module else f"behind {worst.place}"
        more = f" So are more than {ENOUGH:.0%} of those of {others} other place{'s' * (others > 1)}." if others else ""
        yield f"{worst.share:.0%} of the gradients {where} are lost: float16 makes them zero.{more}"
