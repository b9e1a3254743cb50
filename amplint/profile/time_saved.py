"""What a mode saves of a step's time, and how certain that is: single steps differ, and so do their medians."""

from __future__ import annotations

import math

from amplint.profile.profile_record import ModeSummary

LEAST = 0.03
"""The least part of a step's time that is worth a change."""
_ERROR = 0.93
"""The standard error of a median, in middle halves of normal values over the root of their number: 1.253 / 1.349."""
_CERTAIN = 3.0
"""Standard errors from which on a saving is believed."""
_RULED_OUT = 2.0
"""Standard errors beyond which a saving is not to be expected."""
_FINEST = 0.01
"""The least difference from `LEAST` that steps are asked to tell apart."""


def saved(one: ModeSummary, plain: ModeSummary) -> float:
    """The part of a step's time that a mode saves; negative where it costs time.

    Args:
        one: the mode.
        plain: float32.
    """
    return 1 - (one.median or 0.0) / (plain.median or 1.0)


def saves(one: ModeSummary, plain: ModeSummary) -> bool:
    """Whether a mode saves time for certain: every turn says so, and the middle halves of the times do not meet, or so many
    steps tell.

    Args:
        one: the mode.
        plain: what it is compared with.
    """
    assert one.high is not None and plain.low is not None
    apart = one.high < plain.low or saved(one, plain) - _CERTAIN * _error(one, plain) >= LEAST
    return apart and saved(one, plain) >= LEAST and _in_every_turn(one, plain)


def may_save(one: ModeSummary, plain: ModeSummary) -> bool:
    """Whether it cannot be ruled out that a mode saves time.

    Args:
        one: the mode.
        plain: what it is compared with.
    """
    return saved(one, plain) + _RULED_OUT * _error(one, plain) >= LEAST


def steps_to_tell(one: ModeSummary, plain: ModeSummary) -> int:
    """How many steps of each mode are likely to tell whether it saves time, if they go on to differ as they did.

    Args:
        one: the mode.
        plain: what it is compared with.
    """
    apart = max(abs(saved(one, plain) - LEAST), _FINEST)
    wanted = (_CERTAIN * _error(one, plain) / apart) ** 2
    return math.ceil(max(wanted, 1.0 if _in_every_turn(one, plain) else 2.0) * min(one.steps, plain.steps))


def _error(one: ModeSummary, plain: ModeSummary) -> float:
    """The standard error of the part that is saved."""
    return math.hypot(_of_median(one), _of_median(plain) * (1 - saved(one, plain))) / (plain.median or 1.0)


def _of_median(one: ModeSummary) -> float:
    assert one.low is not None and one.high is not None
    return _ERROR * (one.high - one.low) / math.sqrt(one.steps)


def _in_every_turn(one: ModeSummary, plain: ModeSummary) -> bool:
    """Whether a mode is the faster one in each turn beside the other: turns differ by what else the machine does."""
    return all(mine < other for mine, other in zip(one.turns, plain.turns))
