"""Measurements: what the record of a run says about a defect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import torch

from amplint.model import observable
from amplint.model.events import ADD, Backward, Clip, GradAccess, SchedulerStep
from amplint.model.hazards import Hazard
from amplint.model.literals import number
from amplint.runtime.measurement import NONE, Figure, Measurement, Player, Trio, agree
from amplint.runtime.outcome import Axis
from amplint.runtime.record import Record
from amplint.runtime.training import ASSUMED_LIMIT, by_value

_MAGNITUDES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_SAME = 0.05
"""Sizes that differ by less than this, relative to each other, are shown as the same."""
_Where = tuple[str, int]


def take(measure: str, player: Player, hazard: Hazard) -> Measurement:
    """Take a measurement (one of those named in `amplint.model.observable`) of a hazard."""
    return _MEASURES[measure](player, hazard)


# -- what optimizers saw -----------------------------------------------------------------------------------------------


def _norm_seen(player: Player, hazard: Hazard) -> Measurement:
    name, size = observable.NORM_SEEN, _norm
    given: dict[str, float | str] = {}
    if hazard.kind == "clip-before-unscale":
        by, text = hazard.details
        clip, limit = Clip(-1, (), by=by, limit=text), number(text)
        word = "clip_value" if by_value(clip) else "max_norm"
        given = {word: limit} if limit is not None else {f"{word} (assumed)": ASSUMED_LIMIT}
        if by_value(clip):
            name, size = "largest gradient element seen by the optimizer", _largest
    # An update in between changes the scale of one optimizer's gradients only when another one's have overflowed.
    trio = player.play(spared=hazard.optimizer) if hazard.kind == "update-per-optimizer" else player.play()
    seen = [_seen(record, size) for record in (trio.before, trio.after, trio.reference)]
    concerned = {hazard.optimizer} & {step.optimizer for step in trio.reference.steps}
    ordinary = [
        (step.optimizer, step.round)
        for step in trio.reference.steps
        if step.gradient is not None and (not concerned or step.optimizer in concerned)
    ]
    figures = _errors(trio)
    overflow = _differing("parameters after an overflow", trio.each(_after_overflow(trio.reference)))
    if ordinary:
        at = _telling(ordinary, *seen)
        size_seen = Figure(name, *(each.get(at, NONE) for each in seen))
        same = overflow and agree(size_seen.before, size_seen.after, _SAME)
        figures += [*overflow, size_seen] if same else [size_seen, *overflow]
    first = min(ordinary, default=("", 0))[0]
    shown = sorted({at for at in ordinary if at[0] == first})
    series = dict(zip(("before", "after", "reference"), (_until_last(each, shown) for each in seen)))
    axis = Axis("iteration", tuple(float(at[1] + 1) for at in shown), name)
    return Measurement(tuple(figures), given, series, axis, bool(ordinary))


def _gradient_read(player: Player, hazard: Hazard) -> Measurement:
    if hazard.details == (ADD,):
        return _norm_seen(player, hazard)
    readings = [event for event in player.events if isinstance(event, GradAccess) and event.by]
    trio = player.play()
    seen = [record.readings for record in (trio.before, trio.after, trio.reference)]
    here = [turn for turn, event in enumerate(readings[: min(map(len, seen))]) if event.site == hazard.site]
    ordinary = [turn for turn in here if 0 < seen[2][turn] < math.inf]
    if not ordinary:
        return Measurement(tuple(_errors(trio)), ordinary=False)
    turn = max(ordinary, key=lambda turn: _deviation(seen[1][turn], seen[2][turn]))
    figure = Figure(observable.GRADIENT_READ, *(values[turn] for values in seen))
    series = {
        name: tuple(values[turn] for turn in here) for name, values in zip(("before", "after", "reference"), seen)
    }
    return Measurement((*_errors(trio), figure), {}, series)


def _norm(gradient: torch.Tensor) -> float:
    return float(gradient.norm())


def _largest(gradient: torch.Tensor) -> float:
    return float(gradient.abs().max()) if gradient.numel() else 0.0


def _seen(record: Record, size: Callable[[torch.Tensor], float]) -> dict[_Where, float]:
    """For each optimizer and iteration, the size of the gradients that it took; 0 where the step was skipped."""
    found: dict[_Where, float] = {}
    for step in record.steps:
        at, value = (step.optimizer, step.round), 0.0 if step.gradient is None else size(step.gradient)
        found[at] = value if not value <= found.get(at, -1.0) else found[at]
    return found


def _until_last(seen: Mapping[_Where, float], wanted: list[_Where]) -> tuple[float, ...]:
    """The sizes at some places, as far as the run came: after an error there is nothing to show."""
    there = [index for index, at in enumerate(wanted) if at in seen]
    return tuple(seen.get(at, math.nan) for at in wanted[: max(there, default=-1) + 1])


def _telling(
    ordinary: list[_Where], before: Mapping[_Where, float], after: Mapping[_Where, float], right: Mapping[_Where, float]
) -> _Where:
    """The iteration that tells most: where the fix leaves something wrong, or else where the defect is at its worst."""
    worst = max(ordinary, key=lambda at: _deviation(after.get(at), right[at]))
    if abs(_deviation(after.get(worst), right[worst])) > _SAME:
        return worst
    finite = [at for at in ordinary if 0 < before.get(at, 0) < math.inf]
    return max(finite or ordinary, key=lambda at: _deviation(before.get(at), right[at]))


def _deviation(measured: float | None, right: float) -> float:
    """How far apart two sizes are: the logarithm of their ratio; infinite where there is none."""
    if measured is None or not (0 < measured < math.inf and 0 < right < math.inf):
        return 0.0 if measured == right else math.inf
    return abs(math.log(measured / right))


def _after_overflow(reference: Record) -> Callable[[Record], str]:
    skipped = reference.skips()

    def state(record: Record) -> str:
        steps = [step for step in record.steps if (step.optimizer, step.round) in skipped]
        if not all(step.finite for step in steps):
            return "non-finite"
        return "changed" if any(step.changed for step in steps) else "unchanged"

    return state


# -- errors ------------------------------------------------------------------------------------------------------------


def _error(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    return Measurement((Figure(observable.ERROR, *trio.each(_raised)),))


def _raised(record: Record) -> str:
    return record.error or NONE


def _errors(trio: Trio) -> list[Figure]:
    return _differing(observable.ERROR, trio.each(_raised))


def _differing(name: str, values: tuple[float | str, ...]) -> list[Figure]:
    """A figure that is worth a word only where it differs."""
    return [Figure(name, *values)] if len(set(values)) > 1 else []


# -- losses ------------------------------------------------------------------------------------------------------------


def _reported(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    index = list(trio.before.reported).index(hazard.site)
    runs = {name: list(record.reported.values()) for name, record in vars(trio).items()}
    shown = {name: tuple(reports[index]) if index < len(reports) else () for name, reports in runs.items()}
    figure = Figure(observable.REPORTED, *(each[0] if each else NONE for each in shown.values()))
    return Measurement((*_errors(trio), figure), {}, shown, ordinary=bool(shown["reference"]))


# -- schedules ---------------------------------------------------------------------------------------------------------


def _scheduler_lead(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play()
    scheduler = next(
        event.scheduler for event in player.events if isinstance(event, SchedulerStep) and event.site == hazard.site
    )
    leads = {name: record.leads.get(scheduler, []) for name, record in vars(trio).items()}
    figure = Figure(observable.SCHEDULER_LEAD, *(each[-1] if each else NONE for each in leads.values()))
    series = {name: tuple(map(float, each)) for name, each in leads.items()}
    turns = tuple(float(turn + 1) for turn in range(max(map(len, leads.values()))))
    axis = Axis("step of the scheduler", turns, observable.SCHEDULER_LEAD)
    return Measurement((*_errors(trio), figure), {}, series, axis, bool(leads["reference"]))


# -- underflow ---------------------------------------------------------------------------------------------------------


def _zeroed(player: Player, hazard: Hazard) -> Measurement:
    sweep = {magnitude: _zero_fractions(player.play(magnitude)) for magnitude in _MAGNITUDES}
    known = {magnitude: each for magnitude, each in sweep.items() if each is not None}
    if not known:
        return Measurement((), ordinary=False)
    magnitude = max(known, key=lambda each: known[each][0])
    figure = Figure(observable.ZEROED, *known[magnitude], 0.0)
    series = {
        "before": tuple(each[0] for each in known.values()),
        "after": tuple(each[1] for each in known.values()),
        "reference": (0.0,) * len(known),
    }
    return Measurement(
        (figure,), {"loss times": magnitude}, series, Axis("factor of the loss", tuple(known), observable.ZEROED)
    )


def _zero_fractions(trio: Trio) -> tuple[float, float] | None:
    """The fractions of gradients lost, before and after, at the first step that all three runs took."""
    firsts = [_first_taken(record) for record in (trio.before, trio.after, trio.reference)]
    shared = set.intersection(*(set(first) for first in firsts))
    if not shared:
        return None
    at = min(shared, key=lambda where: where[1])
    before, after, right = (first[at] for first in firsts)
    nonzero = right != 0
    return tuple(float((each[nonzero] == 0).float().mean()) for each in (before, after))  # type: ignore[return-value]


def _first_taken(record: Record) -> dict[_Where, torch.Tensor]:
    return {(step.optimizer, step.round): step.gradient for step in record.steps if step.gradient is not None}


# -- backward inside a region ------------------------------------------------------------------------------------------


def _island_error(player: Player, hazard: Hazard) -> Measurement:
    trio = player.play(island=True)
    passes = [event.site for event in player.events if isinstance(event, Backward)]
    index = passes.index(hazard.site)
    errors = [_relative_errors(record, trio.reference, index) for record in (trio.before, trio.after)]
    figure = Figure(observable.ISLAND_ERROR, max(errors[0], default=NONE), max(errors[1], default=NONE), 0.0)
    series = {"before": tuple(errors[0]), "after": tuple(errors[1]), "reference": (0.0,) * len(errors[1])}
    return Measurement((*_errors(trio), figure), {}, series, ordinary=bool(errors[1]))


def _relative_errors(record: Record, reference: Record, index: int) -> list[float]:
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
    figure = Figure(observable.LOSS_ERROR, max(series["before"], default=NONE), max(series["after"], default=NONE), 0.0)
    return Measurement((*_errors(trio), figure), {}, series, ordinary=bool(series["reference"]))


_MEASURES: Mapping[str, Callable[[Player, Hazard], Measurement]] = {
    observable.NORM_SEEN: _norm_seen,
    observable.GRADIENT_READ: _gradient_read,
    observable.ERROR: _error,
    observable.REPORTED: _reported,
    observable.SCHEDULER_LEAD: _scheduler_lead,
    observable.ZEROED: _zeroed,
    observable.ISLAND_ERROR: _island_error,
    observable.LOSS_ERROR: _loss_error,
}
