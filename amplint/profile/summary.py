"""Turns as numbers: the middle of the times, their spread, and how far the losses of a mode lie from those of float32."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from itertools import combinations

from amplint.profile.modes import FLOAT16, FLOAT32, MODES
from amplint.profile.profile_record import ModeSummary, ProfileRecord, TurnRecord

_END = 4
"""The last quarter of the losses says how a run ends."""


def summarise(record: ProfileRecord) -> None:
    """Fill in what the turns of a profile come to, mode by mode."""
    record.memory = next((turn.capacity for turn in record.turns if turn.capacity), None)
    reference = {turn.round: turn for turn in record.turns if turn.mode == FLOAT32}
    for mode in sorted({turn.mode for turn in record.turns}, key=MODES.index):
        record.modes.append(_of_mode(mode, [turn for turn in record.turns if turn.mode == mode], reference))
    apart = [_distance(one.losses, other.losses) for one, other in combinations(reference.values(), 2)]
    record.noise = max((one for one in apart if one is not None), default=None)


def _of_mode(mode: str, turns: Sequence[TurnRecord], reference: dict[int, TurnRecord]) -> ModeSummary:
    times = [step for turn in turns for step in turn.times]
    seconds = [step.seconds for step in times]
    total = sum(seconds) or 1.0
    low, median, high = _quartiles(seconds)
    distances = [_distance(turn.losses, reference[turn.round].losses) for turn in turns if turn.round in reference]
    return ModeSummary(
        mode, len(times), median, low, high,
        sum(step.between for step in times) / total,
        min(sum(step.loading for step in times) / total, 1.0),
        _most(turn.peak for turn in turns),
        _most(turn.resting for turn in turns),
        _most(turn.kept for turn in turns),
        sum(turn.tried for turn in turns),
        sum(turn.skipped for turn in turns),
        _median(distances),
        any(_ends_lost(turn.losses) for turn in turns),
        mode == FLOAT16 and any(turn.scalers for turn in turns),
        turns[0].losses,
        next((turn.problem for turn in turns if turn.exit_code or not turn.times), ""),
        tuple(statistics.median(step.seconds for step in turn.times) for turn in turns if turn.times),
    )  # fmt: skip


def _quartiles(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    if len(values) < 2:
        return (values[0],) * 3 if values else (None,) * 3
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def _most(values: Iterable[int | None]) -> int | None:
    return max((one for one in values if one is not None), default=None)


def _median(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return statistics.median(known) if known else None


def _distance(losses: Sequence[float], others: Sequence[float]) -> float | None:
    """The mean distance of two runs' losses over the mean of the second, as far as both are numbers; None without any."""
    pairs = [(one, other) for one, other in zip(losses, others) if math.isfinite(one) and math.isfinite(other)]
    size = math.fsum(abs(other) for _, other in pairs)
    return math.fsum(abs(one - other) for one, other in pairs) / size if size else None


def _ends_lost(losses: Sequence[float]) -> bool:
    """Whether all losses at the end are NaN or infinite."""
    end = losses[-max(len(losses) // _END, 1) :]
    return bool(end) and not any(map(math.isfinite, end))
