"""Measured values in words."""

from __future__ import annotations

import math

from amplint.runtime.verdict import Outcome, Values


def shown(value: float | str) -> str:
    """A value as people read it: three digits, whole numbers up to 99999 in full.

    >>> [shown(value) for value in (1.52588e-05, 1.0, 0.0, 65536.0, 7, 123.4, 1.8e6, math.inf, "float16")]
    ['1.53e-05', '1.00', '0', '65536', '7', '123', '1.80e+06', 'inf', 'float16']
    """
    if isinstance(value, (str, int)) or not math.isfinite(value) or value == 0:
        return f"{value:g}" if isinstance(value, float) else str(value)
    if 1000 <= abs(value) < 100_000:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def summary(outcome: Outcome) -> str:
    """What was measured, before and after, and what is right.

    For example `norm seen by the optimizer 1.53e-05 -> 1.00 (max_norm 1.0, reference 1.00)`.
    """
    keys = list(dict.fromkeys((*outcome.before, *outcome.after)))
    changes = [(key, f"{_of(outcome.before, key)} -> {_of(outcome.after, key)}") for key in keys]
    if len(changes) == 1:
        text = f"{outcome.measure or keys[0]} {changes[0][1]}"
    else:
        listed = ", ".join(f"{key} {change}" for key, change in changes)
        text = (
            f"{outcome.measure}: {listed}"
            if listed and outcome.measure not in ("", keys[0])
            else listed or outcome.measure
        )
    return " ".join(filter(None, (text, _reference(outcome, keys))))


def _of(values: Values, key: str) -> str:
    return shown(values[key]) if key in values else "nothing"


def _reference(outcome: Outcome, measured: list[str]) -> str:
    """The author's literals by name, then what the measured values are to be."""
    given = [f"{key} {as_written(value)}" for key, value in outcome.reference.items() if key not in measured]
    right = [key for key in measured if key in outcome.reference]
    for key in right:
        name = "reference" if len(measured) == 1 else f"reference {key}"
        given.append(f"{name} {shown(outcome.reference[key])}")
    return f"({', '.join(given)})" if given else ""


def as_written(value: float | str) -> str:
    """What the author wrote, as long as it is as short as a literal."""
    return str(value) if len(str(value)) <= 8 else shown(value)
