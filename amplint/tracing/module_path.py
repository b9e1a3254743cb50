"""The way to a value: the modules that ran before it, and the largest value that each was given and gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from amplint.tracing.module_ranges import RangeSeen
from amplint.tracing.trace_record import PassedModule, TensorRange

KEPT = 24
"""Modules of which it is told."""


def way_of(seen: Sequence[RangeSeen]) -> tuple[PassedModule, ...]:
    """The modules in the order in which they began to run; of many the last ones, and those that the last ones run in.

    Args:
        seen: the tensors at the edges of modules, in the order in which they were computed.
    """
    rows: list[PassedModule] = []
    begun: dict[str, int] = {}
    for one in seen:
        row = begun.get(one.module) if not one.backward else None
        if row is None or (one.given and rows[row].gave is not None):
            row = len(rows)
            rows.append(PassedModule(one.module, one.kind, one.backward, None, None))
            begun |= {} if one.backward else {one.module: row}
        known = rows[row]
        if one.given:
            rows[row] = replace(known, given=_larger(known.given, one.range))
        else:
            rows[row] = replace(known, gave=_larger(known.gave, one.range))
    return tuple(_last(rows))


def _larger(one: TensorRange | None, other: TensorRange) -> TensorRange:
    if one is None or (one.finite and (not other.finite or other.largest > one.largest)):
        return other
    return one


def _last(rows: list[PassedModule]) -> list[PassedModule]:
    """The last rows, and those that are still running before them."""
    late = len(rows) - KEPT
    running = [one for one in rows[: max(late, 0)] if one.gave is None and not one.backward][: KEPT // 3]
    return running + rows[max(late, 0) + len(running) :]
