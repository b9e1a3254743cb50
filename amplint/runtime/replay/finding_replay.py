"""A finding and its fix, replayed: the defect is made to show, the fix must make it go away.

The code of the author is never run. Its event graph is walked along a path that shows the hazard, and each event is made
to happen with real torch objects on a small problem (`graph_runner`, `amplint.runtime.training`). The text with the fix is read
anew and walked with the same answers to the same conditions: what is proved is what will be written.

Conditions are not evaluated, but answered; values that only a call in the author's code could tell are the problem's own;
calls whose effect on AMP's objects is unknown are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice

from amplint.diagnostics import Diagnostic
from amplint.hazards.found import Found
from amplint.model.observables import NON_FINITE, PRODUCT_TIME, RAISED, RESUMED, VALUE_ERROR, Observable
from amplint.python_ast.definite_assignment import bound_somewhere, newly_unbound
from amplint.rule import File, Rule
from amplint.runtime.criterion import Observation, Question, judge
from amplint.runtime.experiments import carried_states, other_repairs
from amplint.runtime.experiments.by_observable import EXPERIMENTS
from amplint.runtime.measures import linear_products, path_measures
from amplint.runtime.measures.measurement import Measurement
from amplint.runtime.numeric.verdict import prove
from amplint.runtime.replay.altered_losses import alteration, alterations
from amplint.runtime.replay.defect_paths import find, foreign_device, others, routes, subject_of, variants
from amplint.runtime.replay.followed_changes import Side, changes_of, computes_losses, not_followed, on_path
from amplint.runtime.replay.path_observations import READING, observe, told_without_values
from amplint.runtime.replay.path_walk import TooLong
from amplint.runtime.replay.three_runs import Trial, emulation
from amplint.runtime.training.run_record import NotReplayable, Untrained
from amplint.runtime.training.torch_objects import CannotMake
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, PATH, TEMPLATE, Outcome
from amplint.source import Source
from amplint.syntax.tree import Tree

_VARIANTS = 6
"""So many paths with other answers to changed conditions are walked at most."""


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
    raised = [Observation(Question.NEW, f"NameError: {name}", True, False) for name in unbound if name not in bound]
    if raised:
        return judge(raised, Outcome(NOT_REPLAYABLE, "", rule.observable.measure))
    outcome = _replayed(before, after, diagnostic, rule.observable, device, seed, is_patch)
    if unbound and outcome.verdict in (CONFIRMED, PARTLY):
        reason = f"on another path the change leaves {', '.join(f'`{name}`' for name in unbound)} without a value"
        return replace(outcome, verdict=NOT_REPLAYABLE, reason=reason)
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
            return _by_template(observable, take, file, _file(after), diagnostic, is_patch)
    if observable.measure in (NON_FINITE, VALUE_ERROR):
        with emulation(device):
            return prove(file, _file(after), diagnostic, observable.measure, device, seed, is_patch)
    found = find(file, diagnostic)
    if found is None:
        return Outcome(NOT_REPLAYABLE, "the event that the finding is about is not found again", observable.measure)
    try:
        return _on_path(before, after, found, observable, device, seed, is_patch)
    except Untrained as lost:
        shown = Outcome(NOT_REPLAYABLE, "", observable.measure, basis=PATH)
        return judge([Observation(Question.LOST, str(lost), True, False)], shown)
    except (NotReplayable, CannotMake, TooLong) as problem:
        return Outcome(NOT_REPLAYABLE, str(problem), observable.measure)


@lru_cache(maxsize=8)
def _file(source: Source) -> File:
    return File(Tree(source), torch=(2, 3))


def _on_path(
    before: Source, after: Source, found: Found, observable: Observable, device: str, seed: int, is_patch: bool
) -> Outcome:
    """Walk the path of a hazard in both texts, and judge what comes of it."""
    files = _file(before), _file(after)
    first, second = routes(found, *files)
    foreign = foreign_device(observable, first)
    if foreign:
        return Outcome(NOT_OBSERVABLE, f"the code is for {foreign!r}", observable.measure)
    kind, remaining = found.hazard.kind, others(first, second, found.hazard)
    sides = Side(first, files[0]), Side(second, files[1])
    changed = changes_of(*sides, kind, is_patch)
    with emulation(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # code with a defect is what torch warns about
        altered = alterations(changed, sides[1])
        player = Trial(first, second, subject_of(found.hazard, first), device, seed, altered)
        taken = path_measures.take(observable.measure, player, found.hazard)
        plain = player.plain
        observed = taken.observations(observable.tolerance) + observe(plain, first, second, kind, files)
        for mine, theirs in islice(variants(first, second), _VARIANTS):
            other = Trial(mine, theirs, player.subject, device, seed, altered).plain
            seen = observe(other, mine, theirs, kind, files)
            observed += [one for one in seen if one.question is not Question.GONE]
    shown = taken.shown(observable.measure, PATH)
    error = plain.before.error
    is_theirs = observable.measure == RAISED or not found.silent
    if error and error == plain.after.error and not is_theirs and kind not in remaining:
        reason = "the path raises an error that neither defect nor fix has to do with"
        return replace(shown, reason=reason, others=tuple(remaining))
    if not taken.ordinary:
        observed = [one for one in observed if one.question is not Question.GONE]
    beyond = not_followed(changed, *sides, kind)
    beyond = on_path(beyond, *sides) if is_patch else beyond
    if is_patch and plain.before.readings and not plain.after.readings:  # nobody is told any more: that may be meant
        observed = [one for one in observed if one.what != READING]
        beyond = [*beyond, *(one for one in changed if one.new is None and one not in beyond)]
    if computes_losses([one for one in beyond if alteration(one) is None], sides[1]):
        observed = told_without_values(observed)
    return judge(observed, shown, remaining, tuple(dict.fromkeys(one.text for one in beyond)))


def _by_template(
    observable: Observable,
    take: Callable[[File, File, Diagnostic], Measurement],
    before: File,
    after: File,
    diagnostic: Diagnostic,
    is_patch: bool,
) -> Outcome:
    """Judge what stands for the fix of the rule; of a repair that is another one, the texts tell the rest."""
    own = other_repairs.own_fix(before, diagnostic)
    compared = own, after
    if observable.measure == RESUMED:
        compared = carried_states.followed_apart(before, own, after, diagnostic)
    beyond = other_repairs.other_than_own(before, *compared)
    told = [*other_repairs.compare(before, own, after, observable.measure)] if beyond else []
    if is_patch and beyond:
        beyond, is_alone = other_repairs.in_patch(before, *compared, diagnostic)
        if not is_alone:  # what other functions lose is told, and does not refute
            beyond, told = (*beyond, *(each.what for each in told if each.is_spoiled)), []
    try:
        taken = take(before, own if other_repairs.is_other_spelling(before, own, after) else after, diagnostic)
    except NotReplayable as problem:
        shown = Outcome(NOT_REPLAYABLE, str(problem), observable.measure, basis=TEMPLATE)
        is_wrong = any(each.is_spoiled for each in told)
        return judge([Observation(Question.GONE, "the finding", False, False), *told], shown) if is_wrong else shown
    observed = [*taken.observations(observable.tolerance), *told]
    return judge(
        observed, taken.shown(observable.measure, TEMPLATE), beyond=beyond if taken.beyond is None else taken.beyond
    )
