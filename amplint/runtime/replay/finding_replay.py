"""A finding and its fix, replayed: the defect is made to show, the fix must make it go away.

The code of the author is never run. Its event graph is walked along a path that shows the hazard, and each event is made
to happen with real torch objects on a small problem (`graph_runner`, `amplint.runtime.training`). The text with the fix is read
anew and walked with the same answers to the same conditions: what is proved is what will be written.

Conditions are not evaluated, but answered, unless a repair adds them and they ask for a counter; values that only a call in the
author's code could tell are the problem's own; calls whose effect on AMP's objects is unknown are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

from amplint.diagnostics import Diagnostic
from amplint.model.observables import NON_FINITE, PRODUCT_TIME, RESUMED, VALUE_ERROR, Observable
from amplint.python_ast.definite_assignment import bound_somewhere, newly_unbound
from amplint.rule import File, Rule
from amplint.runtime.changes import changes
from amplint.runtime.criterion import Observation, Question, judge, unmeasured
from amplint.runtime.experiments import carried_states, other_repairs
from amplint.runtime.experiments.by_observable import EXPERIMENTS
from amplint.runtime.left_code import newly_left
from amplint.runtime.measures import linear_products
from amplint.runtime.measures.measurement import Measurement
from amplint.runtime.none_arguments import newly_none
from amplint.runtime.numeric.other_values import other_values
from amplint.runtime.numeric.verdict import BesideExpression, prove
from amplint.runtime.refused_calls import newly_refused
from amplint.runtime.replay.defect_paths import find
from amplint.runtime.replay.path_verdict import PathReplay
from amplint.runtime.replay.path_walk import TooLong
from amplint.runtime.replay.three_runs import emulation
from amplint.runtime.training.run_record import NotReplayable, Untrained
from amplint.runtime.training.torch_objects import CannotMake
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, PARTLY, PATH, TEMPLATE, Outcome
from amplint.source import Source
from amplint.syntax.tree import Tree


def replay(
    before: Source,
    after: Source,
    diagnostic: Diagnostic,
    rule: Rule,
    device: str,
    seed: int,
    is_patch: bool = False,
) -> Outcome:
    """Replay a finding in a file, and the file with the fix of this finding applied.

    Args:
        before: the file.
        after: the file with the fix.
        diagnostic: the finding.
        rule: the rule it is of.
        device: one of `amplint.runtime.devices`; `auto` is none.
        seed: decides the small problem; same seed, same device: same outcome.
        is_patch: whether `after` is what somebody else has made of the file. Then what is done to functions that the finding
            has nothing to do with does not count.
    """
    if rule.observable is None:
        return Outcome(NOT_REPLAYABLE, f"{rule.code} does not say how its defect shows")
    unbound = newly_unbound(before.text, after.text)
    bound = bound_somewhere(after.text) if unbound and is_patch else frozenset()
    errors = [f"NameError: {name}" for name in unbound if name not in bound]
    errors += [*newly_refused(_file(before), _file(after)), *newly_none(before, after)]
    if errors:
        said = [Observation(Question.NEW, error, True, False) for error in errors]
        return judge(said, Outcome(NOT_REPLAYABLE, "", rule.observable.measure))
    outcome = _replayed(before, after, diagnostic, rule.observable, device, seed, is_patch)
    if unbound and outcome.verdict in (CONFIRMED, PARTLY):
        reason = f"on another path the change leaves {', '.join(f'`{name}`' for name in unbound)} without a value"
        return replace(outcome, verdict=NOT_REPLAYABLE, reason=reason)
    left = [] if is_patch else newly_left(before.text, after.text)
    if left and outcome.verdict in (CONFIRMED, PARTLY):
        return replace(outcome, verdict=NOT_REPLAYABLE, reason=f"the change does more than is replayed: {left[0]}")
    return outcome


def _replayed(
    before: Source,
    after: Source,
    diagnostic: Diagnostic,
    observable: Observable,
    device: str,
    seed: int,
    is_patch: bool,
) -> Outcome:
    """Replay a finding in the way that shows its defect."""
    if observable.measure == PRODUCT_TIME:
        return linear_products.time_products(_file(before), _file(after), device, seed, observable.tolerance)
    file = _file(before)
    experiment = EXPERIMENTS.get(observable.measure)
    if experiment is not None:
        with emulation(device):
            take = partial(experiment, device=device, seed=seed)
            return _by_template(observable, take, file, _file(after), diagnostic, seed, is_patch)
    own = None if is_patch else other_repairs.likest_fix(file, _file(after), diagnostic)
    if own is not None and not all(changes(own.source.text, each.text) for each in (before, after)):
        own = None  # there is none, or it is what is judged
    if observable.measure in (NON_FINITE, VALUE_ERROR):
        beside = (
            BesideExpression(own, *other_repairs.beside_expression(file, own, _file(after)))
            if own is not None
            else BesideExpression()
        )
        with emulation(device):
            return prove(file, _file(after), diagnostic, observable.measure, device, seed, is_patch, beside)
    found = find(file, diagnostic)
    if found is None:
        return Outcome(NOT_REPLAYABLE, "the event that the finding is about is not found again", observable.measure)
    kept = other_repairs.beside_path(file, own, _file(after)) if own is not None else []
    try:
        kept += other_values(own, _file(after), seed) if own is not None else ()
        replayed = PathReplay(file, _file(after), own, found, observable, device, seed, is_patch)
        return replayed.judged(kept)
    except Untrained as lost:
        shown = Outcome(NOT_REPLAYABLE, "", observable.measure, basis=PATH)
        return judge([Observation(Question.LOST, str(lost), True, False)], shown)
    except (NotReplayable, CannotMake, TooLong) as problem:
        told = [one for one in kept if one.question is Question.LOST]
        return unmeasured(told, Outcome(NOT_REPLAYABLE, str(problem), observable.measure))


@lru_cache(maxsize=8)
def _file(source: Source) -> File:
    return File(Tree(source), torch=(2, 3))


def _by_template(
    observable: Observable,
    take: Callable[[File, File, Diagnostic], Measurement],
    before: File,
    after: File,
    diagnostic: Diagnostic,
    seed: int,
    is_patch: bool,
) -> Outcome:
    """Judge what stands for the fix of the rule; of a repair that is another one, the texts tell the rest."""
    own = other_repairs.likest_fix(before, after, diagnostic)
    compared = own, after
    if observable.measure == RESUMED:
        compared = carried_states.followed_apart(before, own, after, diagnostic)
    beyond = other_repairs.other_than_own(before, *compared)
    told = [*other_repairs.compare(before, own, after, observable.measure)] if beyond else []
    told += other_values(own, after, seed) if beyond and not is_patch else ()
    aside: tuple[str, ...] = ()
    if is_patch and beyond:
        beyond, is_alone = other_repairs.in_patch(before, *compared, diagnostic)
        if not is_alone:  # what other functions lose is told, and does not refute
            aside, told = tuple(each.what for each in told if each.is_spoiled), []
    if observable.measure == RESUMED and carried_states.asks_less(before, own, after, diagnostic):
        beyond = (*beyond, "the state of a scaler that may not be there")
    if is_patch and observable.measure == RESUMED and carried_states.is_left_alone(before, after, diagnostic):
        beyond = (*beyond, "the function that saves, which is as it was")
    try:
        taken = take(before, own if other_repairs.is_other_spelling(before, own, after) else after, diagnostic)
    except (NotReplayable, CannotMake) as problem:
        return unmeasured(told, Outcome(NOT_REPLAYABLE, str(problem), observable.measure, basis=TEMPLATE))
    observed = [*taken.observations(observable.tolerance), *told]
    left = beyond if taken.beyond is None else taken.beyond
    return judge(observed, taken.shown(observable.measure, TEMPLATE), taken.others, (*left, *aside))
