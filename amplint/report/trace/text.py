"""A traced run for people at a terminal: what to look at first, then the steps, then the details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from amplint.report.escape import printable
from amplint.tracing.step_profile import StepProfile
from amplint.tracing.trace_record import FirstNonFinite, PassedModule, SeenDefect, TensorRange, TraceRecord

_PASSED = 8
"""Modules before the first value that is not finite, of which it is told."""


def render(record: TraceRecord) -> Iterator[str]:
    """The lines of the report.

    Args:
        record: the run.
    """
    ended = record.stopped or (printable(record.error) if record.error else f"exit code {record.exit_code}")
    rank = f", rank {record.rank}" if record.rank else ""
    yield f"amplint trace: {printable(record.command)} on {record.device}{rank}, PyTorch {record.torch}: {ended}"
    yield from (f"warning: {one}" for one in record.warnings)
    yield from _steps(record)
    if record.first is not None:
        yield from _first(record.first)
        if outcome := outcome_of(record):
            yield f"  in the end: {outcome}"
    elif not record.totals.lost and (record.totals.tried or not record.error):
        yield _without_first(record)
    for one in record.defects:
        yield _defect(one)
    yield from _dtypes(record)


def _without_first(record: TraceRecord) -> str:
    """What is to be said where no first value was seen, and no step was taken with gradients that are not finite."""
    if lost := [one for one in record.steps if one.taken and one.loss is not None and not math.isfinite(one.loss)]:
        return f"The loss of step {lost[0].number} was not finite; what made it so was not seen."
    but = ", but for steps that the scaler skipped" if record.totals.skipped else ""
    return f"No value that is not finite has reached the loss or the gradients{but}."


def _steps(record: TraceRecord) -> Iterator[str]:
    if not record.totals.tried:
        yield "The program failed before an optimizer stepped." if record.error else "No optimizer has stepped."
        return
    yield course_of(record)
    for step in [one for one in record.steps if not one.taken][:5]:
        held = f": not finite in {', '.join(map(printable, step.nonfinite))}" if step.nonfinite else ""
        yield f"  step {step.number} skipped at scale {step.scale or 0:g}{held}"
        if step.because:
            yield f"    {printable(step.because)}"


def course_of(record: TraceRecord) -> str:
    """Scale, loss, norm and rates from the first step to the last, in one line."""
    totals, steps = record.totals, record.steps
    courses = [
        _course("scale", "g", [step.scale for step in steps]),
        _course("loss", ".4g", [step.loss for step in steps]),
        _course("norm of the gradients", ".4g", [step.norm for step in steps if step.taken]),
        _course("learning rate", ".4g", [step.rates[0] for step in steps if step.rates]),
    ]
    if totals.clipped:
        courses.append(f"clipping cut {totals.cuts} of {totals.clipped}")
    steps_in_words = "1 step" if totals.tried == 1 else f"{totals.tried} steps"
    return "; ".join([f"{steps_in_words}, {totals.skipped} skipped", *filter(None, courses)])


def _course(name: str, form: str, values: Sequence[float | None]) -> str:
    known = [one for one in values if one is not None]
    if not known:
        return ""
    told = [f"{one:{form}}" for one in known]
    return f"{name} {told[0]}" if len(set(told)) == 1 else f"{name} {told[0]} at first, {told[-1]} at last"


def _first(first: FirstNonFinite) -> Iterator[str]:
    pass_ = "backward" if first.backward else "forward"
    yield f"First value that is not finite: step {first.step}, {pass_} pass"
    module = f" in `{printable(first.module)}` ({printable(first.kind)})" if first.module else ""
    operation = f"`{first.operation}`" if first.operation else printable(first.what)
    yield f"  {printable(first.place)}: {operation}{module}: {range_in_words(first.result)}"
    for operand in first.operands:
        yield f"    from {operand_in_words(operand)}"
    page = f" (see `amplint explain {first.rule}`)" if first.rule else ""
    yield f"  why: {first.why}{page}"
    if first.before:
        yield "  modules before it, and the largest value that each was given and gave:"
        shown = first.before[-_PASSED:]
        width = max(len(printable(one.module)) for one in shown)
        yield from (f"    {printable(one.module):{width}}  {_passed(one)}" for one in shown)


def range_in_words(one: TensorRange) -> str:
    """A tensor in a few words."""
    shape = "x".join(map(str, one.shape)) or "scalar"
    largest = f"largest {one.largest:.4g}" if math.isfinite(one.largest) else f"{one.largest}"
    return f"{one.dtype} {shape}, {largest}"


def operand_in_words(one: TensorRange) -> str:
    """What went into an operation, in a few words; a weight by its name."""
    name = f"`{printable(one.name)}`, " if "." in one.name else ""
    return f"{name}{range_in_words(one)}"


def passed_cells(one: PassedModule) -> tuple[str, str]:
    """What a module was given, and what it gave, in a few words each."""
    given, gave = (f"{each.dtype} {each.largest:.4g}" if each is not None else "" for each in (one.given, one.gave))
    return given, f"gradient {gave}" if one.backward else gave or "(still running)"


def _passed(one: PassedModule) -> str:
    return " -> ".join(filter(None, passed_cells(one)))


def outcome_of(record: TraceRecord) -> str:
    """What came of the first value that is not finite; empty where the step is not known."""
    first = record.first
    step = next((one for one in record.steps if first is not None and one.number == first.step), None)
    if step is None:
        return ""
    if not step.taken:
        return "the scaler skipped the step"
    if step.is_lost:
        return "the optimizer took the step with gradients that are not finite"
    return "the gradients were finite, and the optimizer took the step"


def _defect(one: SeenDefect) -> str:
    how = "found by reading and seen" if one.read else "seen, not found by reading:"
    times = "once" if one.times == 1 else f"{one.times} times"
    return f"{printable(one.place)}: {one.code} {printable(one.message)} ({how} {times}, first in step {one.step})"


def _dtypes(record: TraceRecord) -> Iterator[str]:
    totals: dict[str, int] = {}
    for module in record.dtypes:
        for dtype, calls in module.calls:
            totals[dtype] = totals.get(dtype, 0) + calls
    if totals:
        calls = sum(totals.values())
        shares = ", ".join(f"{dtype} {count / calls:.0%}" for dtype, count in sorted(totals.items()))
        yield f"Innermost modules gave: {shares}"
    if record.profile is not None:
        yield from _profile(record.profile)
    elif record.not_again:
        yield f"No step could be run again, to look at each operation: {printable(record.not_again)}"


def _profile(profile: StepProfile) -> Iterator[str]:
    times: dict[str, float] = {}
    for one in profile.operations:
        times[one.dtype] = times.get(one.dtype, 0.0) + one.seconds
    times["casts"] = sum(one.seconds for one in profile.casts)
    total = sum(times.values())
    shares = [
        f"{name} {seconds / total:.0%}" for name, seconds in sorted(times.items(), key=lambda one: -one[1]) if seconds
    ]
    undone = sum(one.undone for one in profile.casts)
    taken_back = f"; {undone} casts take back another" if undone else ""
    yield f"Time of step {profile.step}: {', '.join(shares)}{taken_back}"
    for each in profile.fallbacks[:5]:
        where = f"`{printable(each.module)}` ({printable(each.kind)})" if each.module else "outside of modules"
        yield f"  float32 inside a region: {where}: {printable(each.why)}"
