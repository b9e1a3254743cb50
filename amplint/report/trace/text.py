"""A traced run for people at a terminal: what to look at first, then the steps, then the details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from amplint.report.escape import printable
from amplint.tracing.trace_record import FirstNonFinite, SeenDefect, TensorRange, TraceRecord


def render(record: TraceRecord) -> Iterator[str]:
    """The lines of the report.

    Args:
        record: the run.
    """
    ended = record.stopped or (printable(record.error) if record.error else f"exit code {record.exit_code}")
    yield f"amplint trace: {printable(record.command)} on {record.device}, PyTorch {record.torch}: {ended}"
    yield from (f"warning: {one}" for one in record.warnings)
    yield from _steps(record)
    if record.first is not None:
        yield from _first(record.first)
    else:
        yield "No value that is not finite has reached the loss or the gradients."
    for one in record.defects:
        yield _defect(one)
    yield from _dtypes(record)


def _steps(record: TraceRecord) -> Iterator[str]:
    totals, steps = record.totals, record.steps
    if not totals.tried:
        yield "No optimizer has stepped."
        return
    courses = [
        _course("scale", "g", [step.scale for step in steps]),
        _course("loss", ".4g", [step.loss for step in steps]),
        _course("norm of the gradients", ".4g", [step.norm for step in steps if step.taken]),
        _course("learning rate", ".4g", [step.rates[0] for step in steps if step.rates]),
    ]
    if totals.clipped:
        courses.append(f"clipping cut {totals.cut} of {totals.clipped}")
    yield "; ".join([f"{totals.tried} steps, {totals.skipped} skipped", *filter(None, courses)])
    for step in [one for one in steps if not one.taken][:5]:
        held = f": not finite in {', '.join(map(printable, step.nonfinite))}" if step.nonfinite else ""
        yield f"  step {step.number} skipped at scale {step.scale or 0:g}{held}"
        if step.because:
            yield f"    {printable(step.because)}"


def _course(name: str, form: str, values: Sequence[float | None]) -> str:
    known = [one for one in values if one is not None]
    if not known:
        return ""
    first, last = f"{known[0]:{form}}", f"{known[-1]:{form}}"
    return f"{name} {first}" if len(set(known)) == 1 else f"{name} {first} at first, {last} at last"


def _first(first: FirstNonFinite) -> Iterator[str]:
    pass_ = "backward" if first.backward else "forward"
    yield f"First value that is not finite: step {first.step}, {pass_} pass"
    module = f" in `{printable(first.module)}` ({printable(first.kind)})" if first.module else ""
    operation = f"`{first.operation}`" if first.operation else ("gradient" if first.backward else "result")
    yield f"  {printable(first.place)}: {operation}{module}: {_range(first.result)}"
    for operand in first.operands:
        yield f"    from {_range(operand)}"
    page = f" (see `amplint explain {first.rule}`)" if first.rule else ""
    yield f"  why: {first.why}{page}"


def _range(one: TensorRange) -> str:
    shape = "x".join(map(str, one.shape)) or "scalar"
    largest = f"largest {one.largest:.4g}" if math.isfinite(one.largest) else f"{one.largest}"
    return f"{one.dtype} {shape}, {largest}"


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
