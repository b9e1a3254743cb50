"""What went wrong in a run, as figures."""

from __future__ import annotations

from amplint.model import observables
from amplint.runtime.measures.measurement import NONE, Figure, Trio
from amplint.runtime.training.run_record import RunRecord


def raised(record: RunRecord) -> str:
    """The error that ended a run; `NONE` where there was none."""
    return record.error or NONE


def error_figures(trio: Trio) -> list[Figure]:
    """The errors of three runs, where they are not all the same."""
    return differing_figure(observables.RAISED, trio.each(raised))


def differing_figure(name: str, values: tuple[float | str, ...]) -> list[Figure]:
    """A figure that is worth a word only where it differs.

    Args:
        name: what the figure is called.
        values: what was measured before the fix, after it and in the reference.
    """
    return [Figure(name, *values)] if len(set(values)) > 1 else []
