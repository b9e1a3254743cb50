"""What three runs along a path answer to the questions of the criterion, whatever the finding is about.

Compared with the reference, step by step: the gradients that optimizers took, where their parameters are, learning rates, how
many steps were taken, and what was shown of losses and gradients. Compared before and after: errors, hazards, regions, the
precision of products, scalers, and optimizers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from amplint.model.events import (
    Assign,
    AutocastEnter,
    Backward,
    OptimizerStep,
    ScalerStep,
    ScalerUpdate,
    Unscale,
    ZeroGrad,
)
from amplint.model.protocol.hazard import HazardKind
from amplint.model.references import reference
from amplint.rule import File
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.experiments.amp_settings import misplaced_dtypes
from amplint.runtime.measures.measurement import Trio, agree
from amplint.runtime.replay.path_walk import Walk, bare
from amplint.runtime.replay.shown_on_path import NEAR, shown_on_path
from amplint.runtime.training.run_record import RunRecord, Step

_FOLLOWED = 0.25
"""The same of what parameters have moved by, after several steps of an optimizer that divides by small numbers."""
_GOES_ON = 3
"""So many backward passes there are where training does not end with the first iteration."""
_Where = tuple[str, int]
"""An optimizer and an iteration."""


def told_without_values(observed: Sequence[Observation]) -> list[Observation]:
    """What holds of a path also where a change computes losses in a way that a walk does not know."""
    return [one for one in observed if one.question in (Question.NEW, Question.LOST) or one.after]


def observe(trio: Trio, before: Walk, after: Walk, kind: HazardKind, files: tuple[File, File]) -> list[Observation]:
    """The answers of the runs along a path.

    Args:
        trio: the records of the runs.
        before: the path in the code as it stands.
        after: the same path in the code with the fix.
        kind: that of the defect.
        files: both texts.
    """
    left = [{each.site for each in walk.hazards if each.kind is kind} for walk in (before, after)]
    gone = Observation(Question.GONE, f"the defect {kind}", False, len(left[1]) < len(left[0]))
    return [
        gone,
        *_new(trio, before, after, files),
        *_lost(trio, before, after, kind, misplaced_dtypes(files[0])),
        *_steps(trio),
        *_turns(trio),
        *shown_on_path(trio, files),
    ]


def _new(trio: Trio, before: Walk, after: Walk, files: tuple[File, File]) -> Iterator[Observation]:
    error = trio.after.error
    if error:
        yield Observation(Question.NEW, error, trio.before.error != error, False)
    mine, theirs = (_hazards(*each) for each in zip((before, after), files))
    for kind in sorted(theirs - mine):
        yield Observation(Question.NEW, f"the defect {kind}", True, False)


def _hazards(walk: Walk, file: File) -> set[HazardKind]:
    """The kinds of the defects on a path, and on the other paths of the function."""
    elsewhere = {
        each.hazard.kind for each in file.analysis.hazards if bare(each.entry.function) == bare(walk.entry.function)
    }
    return elsewhere | {each.kind for each in walk.hazards}


# -- what must stay ----------------------------------------------------------------------------------------------------


def _lost(trio: Trio, before: Walk, after: Walk, kind: HazardKind, meant: set[str]) -> Iterator[Observation]:
    kept = _regions(after)
    as_meant = any(region.split()[0] in meant for region in kept)  # the author names it in another argument's place
    for region in sorted(_regions(before)) if kind is not HazardKind.FP16_WITHOUT_SCALER else ():
        yield Observation(Question.LOST, f"autocast in {region}", True, region in kept or as_meant)
    shares = [_half(record.precisions) for record in (trio.before, trio.after)]
    yield Observation(Question.LOST, "a forward pass in half precision", True, shares[1] >= shares[0])
    for name in _remade(after) - _remade(before):
        yield Observation(Question.LOST, f"what `{name}` has found out, made anew again and again,", True, False)
    passes = [sum(isinstance(one, Backward) for one in walk.events) for walk in (before, after)]
    yield Observation(Question.LOST, "every iteration but the first", True, passes[1] > 1 or passes[0] < _GOES_ON)
    given = [any(isinstance(one, ScalerUpdate) and one.given for one in walk.events) for walk in (before, after)]
    yield Observation(Question.LOST, "a loss scale that moves by itself", not given[0], not given[1])
    yield from lost_steps(before, after)
    cleared = [_cleared(walk) for walk in (before, after)]
    yield Observation(Question.LOST, "the clearing of gradients between two steps", True, cleared[1] >= cleared[0])
    dropped = [_dropped(walk) for walk in (before, after)]
    yield Observation(Question.LOST, "gradients that are cleared before a step", True, dropped[1] <= dropped[0])
    made = [[*record.scalers.values(), *record.optimizers.values()] for record in (trio.before, trio.after)]
    for one in dict.fromkeys(made[0]):
        yield Observation(Question.LOST, one, True, made[1].count(one) >= made[0].count(one))


def lost_steps(before: Walk, after: Walk) -> Iterator[Observation]:
    """Whether every optimizer is stepped that was, unless another one is in its place.

    Args:
        before: a path in the code as it stands.
        after: a path in the code with the fix.
    """
    steps = (ScalerStep, OptimizerStep)
    mine, theirs = ({one.optimizer for one in walk.events if isinstance(one, steps)} for walk in (before, after))
    for name in sorted(mine - theirs) if len(theirs) < len(mine) else ():
        yield Observation(Question.LOST, f"every step of `{reference(name).written}`", True, False)


def _remade(walk: Walk) -> set[str]:
    """The scalers that are made more than once on a path."""
    objects = walk.entry.objects
    made = Counter(one.target for one in walk.events if isinstance(one, Assign) and not one.carried)
    return {name for name, times in made.items() if times > 1 and name in objects and objects[name].role == "scaler"}


def _cleared(walk: Walk) -> float:
    """Between how many of the steps of optimizers and the backward pass after them gradients are cleared: a share."""
    between: list[bool] = []
    stepped = cleared = False
    for event in walk.events:
        if isinstance(event, (ScalerStep, OptimizerStep)):
            stepped, cleared = True, False
        elif isinstance(event, ZeroGrad):
            cleared = True
        elif isinstance(event, Backward) and stepped:
            between.append(cleared)
            stepped = False
    return sum(between) / len(between) if between else 0.0


def _dropped(walk: Walk) -> int:
    """How often gradients are cleared that no optimizer has stepped with, and that were not unscaled either, to be looked at."""
    times, waiting = 0, False
    for event in walk.events:
        if isinstance(event, (ScalerStep, OptimizerStep, Unscale)):
            waiting = False
        elif isinstance(event, Backward):
            waiting = True
        elif isinstance(event, ZeroGrad):
            times, waiting = times + waiting, False
    return times


def _regions(walk: Walk) -> set[str]:
    regions = (event.region for event in walk.events if isinstance(event, AutocastEnter))
    return {f"{each.dtype} for {each.device!r} (enabled: {each.enabled})" for each in regions if each.lowers}


def _half(products: Sequence[str]) -> float:
    return sum("16" in each for each in products) / len(products) if products else 0.0


# -- what is meant -----------------------------------------------------------------------------------------------------


def _steps(trio: Trio) -> Iterator[Observation]:
    mine, theirs, right = (_last(record) for record in (trio.before, trio.after, trio.reference))
    found: dict[str, list[Observation]] = {}
    for at, step in right.items():
        if step.gradient is None:
            continue
        optimizer, point = f"`{reference(at[0]).written}`", f"iteration {at[1] + 1}"
        pair = old, new = mine.get(at), theirs.get(at)
        compared: Mapping[str, list[bool]] = {
            f"the gradients that {optimizer} takes": [_same_gradient(each, step) for each in pair],
            f"what {optimizer} has moved the parameters by": [_same_way(each, step) for each in pair],
            f"the learning rate of {optimizer}": [
                each is not None and agree(each.rate, step.rate, 1e-6) for each in pair
            ],
        }
        same = old is not None and _same_gradient(new, old) and _same_way(new, old)
        found.setdefault(at[0], []).extend(
            Observation(Question.MEANT, what, told[0], told[1] or (told[0] and same), point, same)
            for what, told in compared.items()
        )
    mended = {name for name, each in found.items() if all(one.after for one in each)}
    for each in found.values():
        alone = not mended or not all(one.same for one in each)  # else a repair of others leaves it as it was
        yield from (replace(one, same=one.same and not alone) for one in each)
    for name in dict.fromkeys(name for name, _ in (*mine, *theirs, *right)):
        taken = [
            sum(each.optimizer == name and each.gradient is not None for each in record.steps)
            for record in (trio.before, trio.after, trio.reference)
        ]
        what = f"the number of steps that `{reference(name).written}` takes"
        yield Observation(Question.MEANT, what, taken[0] == taken[2], taken[1] == taken[2], same=False)


def _turns(trio: Trio) -> Iterator[Observation]:
    """How often schedules advance."""
    for name in dict.fromkeys(name for record in vars(trio).values() for name in record.leads):
        mine, theirs, right = (len(record.leads.get(name, ())) for record in vars(trio).values())
        what = f"the number of turns of `{reference(name).written}`"
        if mine != theirs or mine == right:  # else it is another finding's, or what the finding itself measures
            yield Observation(Question.MEANT, what, mine == right, theirs == right, same=False)


def _last(record: RunRecord) -> dict[_Where, Step]:
    """The last step of each optimizer in each iteration: others before it are seen in the parameters, and in the number."""
    return {(step.optimizer, step.round): step for step in record.steps}


def _same_gradient(step: Step | None, right: Step) -> bool:
    if right.gradient is None:
        return step is not None and step.gradient is None
    return step is not None and step.gradient is not None and _is_near(step.gradient, right.gradient, NEAR)


def _same_way(step: Step | None, right: Step) -> bool:
    return step is not None and _is_near(step.moved, right.moved, _FOLLOWED)


def _is_near(vector: torch.Tensor, right: torch.Tensor | None, tolerance: float) -> bool:
    assert right is not None, "only steps that were taken are compared"
    if vector.shape != right.shape:
        return False
    finite = right.isfinite()
    apart, size = (float(each[finite].norm()) for each in (vector - right, right))
    return torch.equal(vector.isfinite(), finite) and apart <= tolerance * size
