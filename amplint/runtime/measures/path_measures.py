"""Measurements: what the record of a run says about a defect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import torch

from amplint.model import observables
from amplint.model.events import Backward, SchedulerStep
from amplint.model.protocol.hazards import Hazard
from amplint.runtime.measures.errors import error_figures, raised
from amplint.runtime.measures.gradient_norms import gradient_read, norm_seen
from amplint.runtime.measures.measurement import NONE, Figure, Measurement, Player, Trio
from amplint.runtime.training.run_record import NotReplayable, RunRecord
from amplint.runtime.verdict import Axis

_MAGNITUDES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_Where = tuple[str, int]
"""An optimizer and an iteration."""


def take(measure: str, player: Player, hazard: Hazard) -> Measurement:
    """Take a measurement of a hazard.

    Args:
        measure: one of those named in `amplint.model.observables`.
        player: runs the code, the code with the fix, and the reference.
        hazard: the defect.
    """
    return _MEASURES[measure](player, hazard)


# -- errors ------------------------------------------------------------------------------------------------------------


def _error(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    return Measurement((Figure(observables.RAISED, *trio.each(raised)),))


def _unmoved(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    before, after = (_idle_steps(record, hazard.optimizer) for record in (trio.before, trio.after))
    return Measurement((*error_figures(trio), Figure(observables.UNMOVED, before, after, 0)))


def _idle_steps(record: RunRecord, optimizer: str) -> int:
    """How often an optimizer was stepped, and not skipped for an overflow, and its parameters did not change."""
    mine = (step for step in record.steps if step.optimizer == optimizer and step.gradient is not None)
    return sum(not step.changed for step in mine)


# -- losses ------------------------------------------------------------------------------------------------------------


def _reported(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    index = list(trio.before.reported).index(hazard.site)
    runs = {name: list(record.reported.values()) for name, record in vars(trio).items()}
    if len(runs["after"]) < len(runs["before"]):
        raise NotReplayable("with the fix, what is reported is not found again")
    shown = {name: tuple(reports[index]) if index < len(reports) else () for name, reports in runs.items()}
    figure = Figure(observables.REPORTED, *(each[0] if each else NONE for each in shown.values()))
    return Measurement((*error_figures(trio), figure), {}, shown, ordinary=bool(shown["reference"]))


# -- schedules ---------------------------------------------------------------------------------------------------------


def _scheduler_lead(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    scheduler = next(
        event.scheduler for event in player.events if isinstance(event, SchedulerStep) and event.site == hazard.site
    )
    leads = {name: record.leads.get(scheduler, []) for name, record in vars(trio).items()}
    figure = Figure(observables.SCHEDULER_LEAD, *(each[-1] if each else NONE for each in leads.values()))
    series = {name: tuple(map(float, each)) for name, each in leads.items()}
    turns = tuple(float(turn + 1) for turn in range(max(map(len, leads.values()))))
    axis = Axis("step of the scheduler", turns, observables.SCHEDULER_LEAD)
    return Measurement((*error_figures(trio), figure), {}, series, axis, bool(leads["reference"]))


# -- underflow ---------------------------------------------------------------------------------------------------------


def _zeroed(player: Player, hazard: Hazard) -> Measurement:
    sweep = {magnitude: _zero_fractions(player.play(magnitude)) for magnitude in _MAGNITUDES}
    known = {magnitude: each for magnitude, each in sweep.items() if each is not None}
    if not known:
        return Measurement((), ordinary=False)
    magnitude = max(known, key=lambda each: known[each][0])
    figure = Figure(observables.ZEROED, *known[magnitude], 0.0)
    series = {
        "before": tuple(each[0] for each in known.values()),
        "after": tuple(each[1] for each in known.values()),
        "reference": (0.0,) * len(known),
    }
    return Measurement(
        (figure,), {"loss times": magnitude}, series, Axis("factor of the loss", tuple(known), observables.ZEROED)
    )


def _zero_fractions(trio: Trio) -> tuple[float, float] | None:
    """The fractions of gradients lost, before and after, at the first step that all three runs took."""
    firsts = [_first_taken(record) for record in (trio.before, trio.after, trio.reference)]
    shared = set.intersection(*(set(first) for first in firsts))
    if not shared:
        return None
    at = min(shared, key=lambda where: (where[1], where[0]))
    before, after, right = (first[at] for first in firsts)
    nonzero = right != 0
    return tuple(float((each[nonzero] == 0).float().mean()) for each in (before, after))  # type: ignore[return-value]


def _first_taken(record: RunRecord) -> dict[_Where, torch.Tensor]:
    return {(step.optimizer, step.round): step.gradient for step in record.steps if step.gradient is not None}


# -- backward inside a region ------------------------------------------------------------------------------------------


def _island_error(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play(island=True)
    passes = [event.site for event in player.events if isinstance(event, Backward)]
    index = passes.index(hazard.site)
    errors = [_relative_errors(record, trio.reference, index) for record in (trio.before, trio.after)]
    figure = Figure(observables.ISLAND_ERROR, max(errors[0], default=NONE), max(errors[1], default=NONE), 0.0)
    series = {"before": tuple(errors[0]), "after": tuple(errors[1]), "reference": (0.0,) * len(errors[1])}
    return Measurement((*error_figures(trio), figure), {}, series, ordinary=bool(errors[1]))


def _relative_errors(record: RunRecord, reference: RunRecord, index: int) -> list[float]:
    """For one backward pass, how far the direction of each optimizer's gradients is from the right one."""
    passes = zip(record.backward[index : index + 1], reference.backward[index:])
    return [error for mine, right in passes for error in _distances(mine, right)]


def _distances(mine: Mapping[str, torch.Tensor], right: Mapping[str, torch.Tensor]) -> Iterable[float]:
    for name in mine:
        direction, target = (vector / vector.norm() for vector in (mine[name], right[name]))
        distance = float((direction - target).norm())
        yield distance if math.isfinite(distance) else math.inf


# -- stale weights -----------------------------------------------------------------------------------------------------


def _loss_error(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play(recheck=True)
    series = {name: tuple(record.loss_errors) for name, record in vars(trio).items()}
    figure = Figure(
        observables.LOSS_ERROR, max(series["before"], default=NONE), max(series["after"], default=NONE), 0.0
    )
    return Measurement((*error_figures(trio), figure), {}, series, ordinary=bool(series["reference"]))


_MEASURES: Mapping[str, Callable[[Player, Hazard], Measurement]] = {
    observables.NORM_SEEN: norm_seen,
    observables.GRADIENT_READ: gradient_read,
    observables.RAISED: _error,
    observables.UNMOVED: _unmoved,
    observables.REPORTED: _reported,
    observables.SCHEDULER_LEAD: _scheduler_lead,
    observables.ZEROED: _zeroed,
    observables.ISLAND_ERROR: _island_error,
    observables.LOSS_ERROR: _loss_error,
}
