"""What a replay comes to. Imports no torch: reports read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CONFIRMED = "confirmed"
"""The defect was measured before the fix, and is gone after it."""
PARTLY = "partly"
"""Some of the defect is gone after the fix, and the rest is as it was; what remains is named."""
REFUTED = "refuted"
"""The measurement contradicts the finding or its fix."""
NOT_OBSERVABLE = "not observable on this device"
"""What the finding is about shows on another kind of device only."""
NOT_REPLAYABLE = "not replayable"
"""The code does something that cannot be replayed."""
ERROR = "error"
"""The replay itself failed: a defect of amplint or of the device, no verdict."""

STANDS = "still there"
"""Of a patch: the finding is there after it as it was before."""
REMOVED = "removed"
"""Of a patch: the code that the finding was about is gone."""
ADDED = "new"
"""Of a patch: the finding was not there before it."""

VERDICTS = (CONFIRMED, PARTLY, REFUTED, ADDED, STANDS, REMOVED, NOT_OBSERVABLE, NOT_REPLAYABLE, ERROR)

PATH = "path"
"""A verdict rests on a walk along the events of the code, with real objects made as the code makes them."""
EXPRESSION = "expression"
"""It rests on the author's own tensor expression, computed over a sweep of operands."""
TEMPLATE = "template"
"""It rests on a small program of amplint's own, which stands for the place that the finding is about."""
EXECUTION = "execution"
"""It rests on the author's own code, run."""

Values = Mapping[str, "float | str"]


@dataclass(frozen=True)
class Axis:
    """What series go over, where that is not iterations.

    Attributes:
        name: in words, such as "value of `logits`".
        places: the values, one for each item of a series.
        shown: what the items are, in words.
    """

    name: str
    places: tuple[float, ...]
    shown: str


@dataclass(frozen=True)
class Outcome:
    """The verdict on one fix, and what it rests on.

    Attributes:
        verdict: one of `VERDICTS`.
        reason: one line; why the verdict is not `confirmed`.
        measure: what was measured, in words, such as "norm seen by the optimizer".
        before: what was measured with the code as it stands. Counts are integers, and shown as such.
        after: the same with the fix applied.
        reference: what is right, under the same names, and the author's literals that it depends on.
        series: what decides, iteration by iteration or along `axis`, of `before`, `after` and `reference`.
        axis: what the series go over; None for iterations.
        others: the kinds of other defects on the path, where it is for them that there is no verdict.
        together: the other findings whose fixes were there all the time, with the code as it stands too.
        basis: `PATH`, `EXPRESSION`, `TEMPLATE` or `EXECUTION`: what was run; empty where nothing was.
        remains: what of the defect is left, in words, where the verdict is `partly`.
        assumed: what the code does not give and the replay took for granted (magnitudes, settings), in words.
    """

    verdict: str
    reason: str = ""
    measure: str = ""
    before: Values = field(default_factory=dict)
    after: Values = field(default_factory=dict)
    reference: Values = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    axis: Axis | None = None
    others: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    basis: str = ""
    remains: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def verdict_of_file(verdicts: Iterable[str]) -> str:
    """The verdict on what a patch did to a file.

    Args:
        verdicts: those on the findings in it, new ones among them.
    """
    reached = set(verdicts)
    for worst, verdict in ((ERROR, ERROR), (REFUTED, REFUTED), (ADDED, REFUTED)):
        if worst in reached:
            return verdict
    if CONFIRMED in reached and reached <= {CONFIRMED, REMOVED}:
        return CONFIRMED
    ordered = (
        (CONFIRMED, PARTLY),
        (PARTLY, PARTLY),
        (NOT_REPLAYABLE, NOT_REPLAYABLE),
        (NOT_OBSERVABLE, NOT_OBSERVABLE),
    )
    return next((verdict for one, verdict in ordered if one in reached), STANDS if STANDS in reached else REMOVED)
