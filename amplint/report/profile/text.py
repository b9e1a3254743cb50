"""A profile for people at a terminal: what to do, the numbers behind it, and the layers that stand in the way."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.profile.advice import in_bytes, milliseconds
from amplint.profile.modes import FLOAT32
from amplint.profile.profile_record import LayerCost, ModeSummary, ProfileRecord
from amplint.report.escape import printable
from amplint.runtime.device_names import CPU, CUDA, EMULATED

HEADS = ("", "step", "middle half", "ratio", "between", "peak", "kept", "skipped", "losses")


def render(record: ProfileRecord) -> Iterator[str]:
    """The lines of the report.

    Args:
        record: the profile.
    """
    yield f"amplint profile: {printable(record.command)} on {record.device} ({record.name}), PyTorch {record.torch}"
    if record.stopped:
        yield f"stopped: {printable(record.stopped)}"
    if record.advice is not None:
        yield record.advice.headline
        yield from (f"  {printable(reason)}" for reason in record.advice.reasons)
    if any(one.median is not None for one in record.modes):
        yield ""
        yield from _table([HEADS, *(mode_row(one, record) for one in record.modes)])
        yield from (f"  {line}" for line in meanings(record))
    for look in [look for look in record.looks if look.refusal]:
        yield f"The layers were not looked at in {look.mode}: {printable(look.refusal)}"
    if record.layers:
        yield ""
        yield f"Layers that gain nothing from {record.layers[0].mode}, or could gain more; by their share of a step:"
        yield from (f"  {printable(layer(one))}" for one in record.layers)


def mode_row(one: ModeSummary, record: ProfileRecord) -> tuple[str, ...]:
    """What a table says of a mode, under `HEADS`.

    Args:
        one: the mode.
        record: the profile.
    """
    plain = record.of(FLOAT32)
    if one.median is None or one.low is None or one.high is None or plain is None:
        return (one.mode, "failed", *[""] * (len(HEADS) - 2))
    timed = record.device != EMULATED
    distance = f"{one.distance:.2g}" if one.distance is not None and one.mode != FLOAT32 else ""
    noise = f"seeds: {record.noise:.2g}" if record.noise is not None else ""
    return (
        one.mode,
        milliseconds(one.median) if timed else "-",
        f"{milliseconds(one.low)} to {milliseconds(one.high)}" if timed else "-",
        f"{one.median / (plain.median or 1.0):.2f}x" if timed else "-",
        f"{one.between:.0%}" if timed else "-",
        in_bytes(one.peak) if one.peak is not None else "?",
        in_bytes(one.kept) if one.kept is not None else "?",
        f"{one.skipped} of {one.tried}" if one.scaled else "",
        noise if one.mode == FLOAT32 else "lost" if one.lost else distance,
    )


def meanings(record: ProfileRecord) -> Iterator[str]:
    """What the columns of the table mean."""
    yield (
        f"{record.rounds} turns of {record.steps} steps a mode, each in a process of its own, after {record.warm_up} steps "
        "of warm-up; between: the share before the forward pass"
    )
    yield {
        CUDA: "peak: what PyTorch had allocated on the GPU; kept: by autograd for the backward pass",
        CPU: "peak: the resident set of the process, with Python and PyTorch; kept: by autograd for the backward pass",
        EMULATED: "no GPU: times say nothing and are left out; peak: the resident set of the process on the CPU; kept: by "
        "autograd for the backward pass, in CUDA's dtypes",
    }[record.device]
    if any(one.kept is None for one in record.modes):
        yield "kept is counted in the second step of a warm-up (`--warmup 2`), unless the program has such hooks of its own"
    yield "losses: the mean distance from those of float32 with the same seed, over their mean; seeds: of float32 with others"


def layer(one: LayerCost) -> str:
    """A layer in a line."""
    place = f"{one.place}: " if one.place else ""
    code = f"{one.code} " if one.code else ""
    why = f": {code}{one.why}" if one.why else ""
    if one.ratio is None:
        return f"{place}`{one.module}` ({one.kind}){why}"
    return f"{one.share:.0%} {place}`{one.module}` ({one.kind}) takes {one.ratio:.2f} times as long as in float32{why}"


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
