"""Measurements of sizes: what optimizers saw, what the code read, and what an overflow did."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from amplint.model import observables
from amplint.model.events import ADD, Clip, GradAccess
from amplint.model.literals import number
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.runtime.measures.errors import differing_figure, error_figures
from amplint.runtime.measures.measurement import NONE, Figure, Measurement, Player, agree
from amplint.runtime.training.clip_limits import ASSUMED_LIMIT, by_value
from amplint.runtime.training.run_record import NotReplayable, RunRecord
from amplint.runtime.verdict import Axis

_SAME = 0.05
"""Sizes that differ by less than this, relative to each other, are shown as the same."""
_Where = tuple[str, int]
"""An optimizer and an iteration."""


def norm_seen(player: Player, hazard: Hazard) -> Measurement:
    """The size of the gradients that optimizers took, and what an overflow did to the parameters.

    Args:
        player: runs the code, the code with the fix, and the reference.
        hazard: the defect.
    """
    name, size = observables.NORM_SEEN, _norm
    given: dict[str, float | str] = {}
    if hazard.kind is HazardKind.CLIP_BEFORE_UNSCALE:
        by, text = hazard.details
        clip, limit = Clip(-1, (), by=by, limit=text), number(text)
        word = "clip_value" if by_value(clip) else "max_norm"
        given = {word: limit} if limit is not None else {f"{word} (assumed)": ASSUMED_LIMIT}
        if by_value(clip):
            name, size = "largest gradient element seen by the optimizer", _largest
    # An update in between changes the scale of one optimizer's gradients only when another one's have overflowed.
    trio = player.play(spared=hazard.optimizer) if hazard.kind is HazardKind.UPDATE_PER_OPTIMIZER else player.play()
    seen = [_seen(record, lambda one: size(one) / player.unit) for record in vars(trio).values()]
    concerned = {hazard.optimizer} & {step.optimizer for step in trio.reference.steps}
    ordinary = [
        (step.optimizer, step.round)
        for step in trio.reference.steps
        if step.gradient is not None and (not concerned or step.optimizer in concerned)
    ]
    figures = error_figures(trio)
    overflow = differing_figure("parameters after an overflow", trio.each(_after_overflow(trio.reference)))
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


def gradient_read(player: Player, hazard: Hazard) -> Measurement:
    """The size of the gradients that the code read.

    Args:
        player: runs the code, the code with the fix, and the reference.
        hazard: the defect.

    Raises:
        NotReplayable: with the fix, nothing reads gradients where the scale matters.
    """
    if hazard.details == (ADD,):
        return norm_seen(player, hazard)
    readings = [event for event in player.events if isinstance(event, GradAccess) and event.by]
    trio = player.play()
    seen = [record.readings for record in (trio.before, trio.after, trio.reference)]
    if not (seen[1] or trio.after.error):
        raise NotReplayable("with the fix, gradients are not read any more, or not as they are")
    here = [turn for turn, event in enumerate(readings[: min(map(len, seen))]) if event.site == hazard.site]
    ordinary = [turn for turn in here if 0 < seen[2][turn] < math.inf]
    if not ordinary:
        return Measurement(tuple(error_figures(trio)), ordinary=False)
    turn = max(ordinary, key=lambda turn: _deviation(seen[1][turn], seen[2][turn]))
    figure = Figure(observables.GRADIENT_READ, *(values[turn] for values in seen))
    series = {
        name: tuple(values[turn] for turn in here) for name, values in zip(("before", "after", "reference"), seen)
    }
    return Measurement((*error_figures(trio), figure), {}, series)


def _norm(gradient: torch.Tensor) -> float:
    return float(gradient.norm())


def _largest(gradient: torch.Tensor) -> float:
    return float(gradient.abs().max()) if gradient.numel() else 0.0


def _seen(record: RunRecord, size: Callable[[torch.Tensor], float]) -> dict[_Where, float]:
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


def _after_overflow(reference: RunRecord) -> Callable[[RunRecord], str]:
    skipped = reference.skips()

    def state(record: RunRecord) -> str:
        steps = [step for step in record.steps if (step.optimizer, step.round) in skipped]
        if not all(step.finite for step in steps):
            return "non-finite"
        return "changed" if any(step.changed for step in steps) else "unchanged"

    return state
