"""A finding and its fix, replayed: the defect is made to show, the fix must make it go away.

The code of the author is never run. Its event graph is walked along a path that shows the hazard, and each event is made
to happen with real torch objects on a small problem (`walk`, `worlds`, `makers`, `problem`). The text with the fix is read
anew and walked with the same answers to the same conditions: what is proved is what will be written.

Conditions are not evaluated, but answered; values that only a call in the author's code could tell are the problem's own;
calls whose effect on AMP's objects is unknown are left out.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from amplint.diagnostics import Diagnostic
from amplint.lowering.analysis import Entry, Found
from amplint.lowering.tree import Tree
from amplint.model.events import NO_GRAD, AutocastEnter, Backward, Event, ObjectFacts, Region, Scale, SchedulerStep
from amplint.model.hazards import Hazard
from amplint.model.observable import ERROR, NON_FINITE, NORM_SEEN, PRODUCT_TIME, SCHEDULER_LEAD, VALUE_ERROR, Observable
from amplint.rule import File, Rule
from amplint.runtime import measure, products
from amplint.runtime.decisions import YES, Decisions, search
from amplint.runtime.devices import CUDA, EMULATED
from amplint.runtime.experiments import EXPERIMENTS
from amplint.runtime.foresight import feeding, last_steps, owner_of, scalers_of, used
from amplint.runtime.makers import CannotMake
from amplint.runtime.measurement import NONE, Measurement, Trio, agree
from amplint.runtime.numeric.verdict import prove
from amplint.runtime.outcome import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.runtime.problem import Problem
from amplint.runtime.record import NotReplayable, Record
from amplint.runtime.rounds import Rounds
from amplint.runtime.training import Training
from amplint.runtime.walk import TooLong, Walk, bare
from amplint.runtime.world import Idle
from amplint.runtime.worlds import Amp, Reference, autocast
from amplint.source import Source

_TORCH_ERRORS = (RuntimeError, AssertionError, ValueError)
"""What torch raises on a misuse."""


def replay(before: Source, after: Source, diagnostic: Diagnostic, rule: Rule, device: str, seed: int) -> Outcome:
    """Replay a finding in a file, and the file with the fix of this finding applied.

    Args:
        before: the file.
        after: the file with the fix.
        diagnostic: the finding.
        rule: the rule it is of.
        device: one of `amplint.runtime.devices`; `auto` is none.
        seed: decides the small problem; same seed, same device: same outcome.
    """
    if rule.observable is None:
        return Outcome(NOT_REPLAYABLE, f"{rule.code} does not say how its defect shows")
    if rule.observable.measure == PRODUCT_TIME:
        return products.replay(_file(before), _file(after), device, seed, rule.observable.tolerance)
    file = _file(before)
    experiment = EXPERIMENTS.get(rule.observable.measure)
    if experiment is not None:
        try:
            with _emulation(device):
                taken = experiment(file, _file(after), diagnostic, device=device, seed=seed)
        except NotReplayable as problem:
            return Outcome(NOT_REPLAYABLE, str(problem), rule.observable.measure)
        return _judge(rule.observable, taken, [])
    if rule.observable.measure in (NON_FINITE, VALUE_ERROR):
        with _emulation(device):
            return prove(file, _file(after), diagnostic, rule.observable.measure, device, seed)
    found = _find(file, diagnostic)
    if found is None:
        return Outcome(
            NOT_REPLAYABLE, "the event that the finding is about is not found again", rule.observable.measure
        )
    try:
        paths = _paths(found, file, _file(after))
        foreign = _foreign(rule.observable, paths[0])
        if foreign:
            return Outcome(NOT_OBSERVABLE, f"the code is for {foreign!r}", rule.observable.measure)
        player = _Player(*paths, _subject(found.hazard, paths[0]), device, seed)
        with _emulation(device), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # code with a defect is what torch warns about
            taken = measure.take(rule.observable.measure, player, found.hazard)
    except (NotReplayable, CannotMake, TooLong) as problem:
        return Outcome(NOT_REPLAYABLE, str(problem), rule.observable.measure)
    return _judge(rule.observable, taken, _others(paths[1], found.hazard))


@lru_cache(maxsize=8)
def _file(source: Source) -> File:
    return File(Tree(source), torch=(2, 3))


def _find(file: File, diagnostic: Diagnostic) -> Found | None:
    """The hazard that a diagnostic is about."""
    for found in file.analysis.of(diagnostic.name, elsewhere=True):
        node = found.node.func if isinstance(found.node, cst.Call) else found.node
        if file.range(node) == diagnostic.range:
            return found
    return None


# -- paths -------------------------------------------------------------------------------------------------------------


def _paths(found: Found, before: File, after: File) -> tuple[Walk, Walk]:
    """A path that shows a hazard, and the same path in the code with the fix."""
    kind, site = found.hazard.kind, found.hazard.site
    for entry in (found.entry, *before.analysis.entries):
        walk = _path_to(kind, site, entry)
        if walk is not None and any(isinstance(event, Backward) for event in walk.events):
            break
    else:
        # The backward pass is in a caller out of sight, which scales the loss.
        prelude = (Scale(-1, _GIVEN, found.hazard.scaler), Backward(-1, _GIVEN))
        walk = _path_to(kind, site, found.entry, prelude)
    if walk is None:
        raise NotReplayable("no path found that shows the defect")
    counterpart = _counterpart(walk.entry, before, after)
    fixed = _walked(Walk(counterpart, walk.decisions.again(), Idle(), walk.prelude))
    if fixed is None:
        raise NotReplayable("with the fix, the path does not come to an end")
    return walk, fixed


_GIVEN = "%given"


def _path_to(kind: str, site: int, entry: Entry, prelude: tuple[Event, ...] = ()) -> Walk | None:
    """The likeliest path from an entry that shows a hazard."""
    shown: list[Walk] = []

    def leads_there(decisions: Decisions) -> bool:
        walk = _walked(Walk(entry, decisions, Idle(), prelude))
        if walk is not None and any((each.kind, each.site) == (kind, site) for each in walk.hazards):
            shown.append(walk)
        return bool(shown)

    search(leads_there)
    return shown[0] if shown else None


def _walked(walk: Walk) -> Walk | None:
    try:
        walk.run()
    except TooLong:
        return None
    return walk


def _counterpart(entry: Entry, before: File, after: File) -> Entry:
    """The same function in the file with the fix: of its name, and of the namesakes the one in the same place."""
    name = bare(entry.function), entry.heir
    namesakes = [each for each in before.analysis.entries if (bare(each.function), each.heir) == name]
    fixed = [each for each in after.analysis.entries if (bare(each.function), each.heir) == name]
    if len(namesakes) != len(fixed):
        raise NotReplayable("with the fix, the function is not found again")
    return next(there for here, there in zip(namesakes, fixed) if here is entry)


def _subject(hazard: Hazard, path: Walk) -> str:
    """The optimizer that a hazard is about: for a scheduler, the one whose rate it sets."""
    names = dict.fromkeys(filter(None, (hazard.optimizer, *sorted(used(path.events)))))
    schedulers = [
        each.scheduler for each in path.events if isinstance(each, SchedulerStep) and each.site == hazard.site
    ]
    if not (schedulers and names):
        return hazard.optimizer
    return owner_of(schedulers[0], path.entry.objects.get(schedulers[0], ObjectFacts()), names)


def _foreign(observable: Observable, path: Walk) -> str:
    """A device type of the code's regions on which the defect may show in another way than on those replayed."""
    devices = {event.region.device for event in path.events if isinstance(event, AutocastEnter)} - {NO_GRAD.device, "?"}
    return next(iter(sorted(devices - observable.devices)), "") if observable.devices else ""


# -- runs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Player:
    """Plays the two paths, and the reference."""

    before: Walk
    after: Walk
    subject: str
    """The optimizer that the finding is about; empty when it is about all."""
    device: str
    seed: int

    @property
    def events(self) -> list[Event]:
        """What happens with the code as it stands."""
        return self.before.events

    def play(self, magnitude: float = 1.0, island: bool = False, spared: str = "", recheck: bool = False) -> Trio:
        """See `amplint.runtime.measure.Player`."""
        optimizers = sorted(used(self.before.events) | used(self.after.events))
        if not optimizers or "" in optimizers:
            raise NotReplayable("an optimizer cannot be told")
        overflowing = [self.subject] if self.subject in optimizers else optimizers
        if spared:
            overflowing = [name for name in optimizers if name != spared]
        if recheck:
            overflowing = []

        def problem(device: str) -> Problem:
            place = "cuda" if device == CUDA else "cpu"
            aside, again = (
                (lambda: autocast(self._region(), device, True)) if each else None for each in (island, recheck)
            )
            return Problem(optimizers, overflowing, place, self.seed, magnitude, aside, again)

        before, after = (self._amp(walk, problem(self.device)) for walk in (self.before, self.after))
        walk, rounds = self.before, Rounds()
        feeds, last = feeding(walk.events), last_steps(walk.events)
        reference = Reference(problem(self.device), walk.entry.objects, rounds, feeds, last, after.skips())
        return Trio(before, after, _run(walk, reference, rounds))

    def _amp(self, walk: Walk, problem: Problem) -> Record:
        rounds, decisions = Rounds(), walk.decisions.again()
        on = decisions.chosen.get("mode", YES).truth
        events = walk.events
        feeds, scalers = feeding(events), scalers_of(events)
        return _run(walk, Amp(problem, walk.entry.objects, rounds, feeds, self.device, on, scalers), rounds)

    def _region(self) -> Region:
        """A region that switches autocast off for the device of the code's own regions."""
        regions = [event.region for event in self.before.events if isinstance(event, AutocastEnter)]
        device = next((region.device for region in regions if region.device != "grad"), "cuda")
        return Region(device, "?", "no")


def _run(walk: Walk, world: Training, rounds: Rounds) -> Record:
    """Walk a path again, in a world where things happen."""
    try:
        Walk(walk.entry, walk.decisions.again(), world, walk.prelude, rounds).run()
    except _TORCH_ERRORS as error:
        world.record.error = f"{type(error).__name__}: {str(error).partition('. ')[0].strip()}"
    world.record.loss_errors = world.problem.loss_errors
    return world.record


def _emulation(device: str) -> AbstractContextManager[None]:
    if device != EMULATED:
        return nullcontext()
    from amplint.runtime.emulate import cuda_autocast

    return cuda_autocast()


# -- verdicts ----------------------------------------------------------------------------------------------------------


def _others(fixed: Walk, hazard: Hazard) -> list[str]:
    """The kinds of other defects on the path with the fix."""
    return sorted({each.kind for each in fixed.hazards} - {hazard.kind})


def _judge(observable: Observable, taken: Measurement, others: list[str]) -> Outcome:
    figures = taken.figures
    right = all(agree(each.after, each.reference, observable.tolerance) for each in figures)
    wrong = not all(agree(each.before, each.reference, observable.tolerance) for each in figures)
    errors = {(each.before, each.after) for each in figures if each.name == ERROR and each.reference == NONE}
    if observable.measure in (NORM_SEEN, SCHEDULER_LEAD) and any(before == after for before, after in errors):
        verdict, reason = NOT_REPLAYABLE, "the path raises an error that neither defect nor fix has to do with"
    elif not figures or not taken.ordinary:
        verdict, reason = NOT_REPLAYABLE, "no step was taken from which to judge"
    elif right and wrong:
        verdict, reason = CONFIRMED, ""
    elif right:
        verdict, reason = NOT_OBSERVABLE, "the defect makes no difference to what is measured"
    elif others:
        verdict, reason = NOT_REPLAYABLE, f"another defect remains on the path: {', '.join(others)}"
    else:
        verdict, reason = REFUTED, "with the fix, what is measured is not what it should be"
    return Outcome(
        verdict,
        reason,
        figures[0].name if figures else observable.measure,
        {each.name: each.before for each in figures},
        {each.name: each.after for each in figures},
        {**{each.name: each.reference for each in figures}, **taken.given},
        taken.series,
        taken.axis,
        others=tuple(others) if verdict == NOT_REPLAYABLE else (),
    )
