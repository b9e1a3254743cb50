"""Whether a fix makes a finite value more exact: the digits that half precision costs, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from amplint.model import observables
from amplint.runtime.criterion import Observation, Question, judge
from amplint.runtime.numeric.tally import Tally
from amplint.runtime.verdict import (
    NOT_OBSERVABLE,
    Outcome,
)

_ROUNDING = 2.0**-12
"""Half of the largest relative error of one rounding to float16: what two values that differ by less have in common."""
_BETTER, _NO_BETTER = 2, 1.1
"""How many times as small an error is that a repair makes smaller, and one that it leaves."""


def judged_by_digits(
    found: Tally, everything: Sequence[Observation], outcome: Outcome, beyond: Sequence[str]
) -> Outcome:
    """The outcome of a fix that makes a finite value more exact.

    Args:
        found: what the runs have shown.
        everything: what else is observed of the fix.
        outcome: what is said where the digits tell nothing.
        beyond: what else the fix changes.
    """
    before, after = found.digits
    if not found.told or before <= _ROUNDING:
        return outcome
    given = {key: value for key, value in outcome.reference.items() if key in ("points", "shape")}
    mine, fixed = ({observables.VALUE_ERROR: digits} for digits in (before, after))
    shown = replace(outcome, measure=observables.VALUE_ERROR, before=mine, after=fixed, reference=given)
    if after * _NO_BETTER < before < after * _BETTER:
        return replace(
            shown, verdict=NOT_OBSERVABLE, reason="something else that is computed in half loses as many digits"
        )
    exact = [
        Observation(Question.GONE, what, False, before >= factor * after)
        for what, factor in (("the value", _BETTER), ("the last digits of the value", 8))
    ]
    return judge([*exact, *everything], replace(shown, series={}, axis=None), beyond=beyond)
