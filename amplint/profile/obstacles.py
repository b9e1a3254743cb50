"""What keeps a precision from paying, in words: waiting, a model that is small, casts."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.profile.modes import FLOAT32, HALF
from amplint.profile.profile_record import LayerLook, ModeSummary, ProfileRecord

_WAITING = 0.5
"""From this part of the time on that is spent on something else, waiting is worth a word."""
_FEW_WEIGHTS = 2**16
"""As in AMP404."""
_SMALL = 40e-6
"""Seconds of an operation that are mostly spent on starting it."""
_CASTS = 0.1
"""From this part of a step's time on, casts are what takes the time."""


def waiting(one: ModeSummary) -> Iterator[str]:
    if one.between >= _WAITING:
        where = "between a step and the next forward pass"
        where += f", {one.loading:.0%} in the data loader" if one.loading >= _WAITING / 2 else ""
        yield f"{one.between:.0%} of the time lies {where}; a precision can save of the rest only."


def smallness(record: ProfileRecord) -> Iterator[str]:
    """Whether there is too little to compute beside what half precision costs on its own."""
    weights = next((turn.weights for turn in record.turns if turn.weights), 0)
    look, plain = _half_look(record), _look(FLOAT32, record)
    if plain is not None and plain.seconds and sum(plain.seconds.values()) < _SMALL * plain.operations:
        mean = 1e6 * sum(plain.seconds.values()) / plain.operations
        code = " (AMP404)" if weights < _FEW_WEIGHTS else ""
        casts = f", and autocast adds {look.number} casts" if look is not None and look.number else ""
        small = (
            f"the model is small{code}, with {weights} weights and operations of {mean:.0f} \N{MICRO SIGN}s in the mean"
        )
        yield f"{small}, about what it takes to start one{casts}."


def casting(record: ProfileRecord) -> Iterator[str]:
    look = _half_look(record)
    if look is not None and look.casts >= _CASTS:
        yield f"{look.number} casts take {look.casts:.0%} of a step in {look.mode}."


def _look(mode: str, record: ProfileRecord) -> LayerLook | None:
    return next((look for look in record.looks if look.mode == mode), None)


def _half_look(record: ProfileRecord) -> LayerLook | None:
    return next((look for mode in reversed(HALF) if (look := _look(mode, record)) is not None), None)
