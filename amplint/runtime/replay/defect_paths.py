"""The way to a defect: a path of the code that shows it, and the same path in the code with the fix."""

from __future__ import annotations

from itertools import islice

import libcst as cst

from amplint.diagnostics import Diagnostic
from amplint.hazards.entry_points import Entry
from amplint.hazards.found import Found
from amplint.model.events import (
    NO_GRAD,
    AutocastEnter,
    Backward,
    Event,
    ObjectFacts,
    OptimizerStep,
    Scale,
    ScalerStep,
    SchedulerStep,
)
from amplint.model.observables import Observable
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.rule import File
from amplint.runtime.replay.branch_choices import Decisions, search
from amplint.runtime.replay.event_world import Idle
from amplint.runtime.replay.path_walk import TooLong, Walk, bare
from amplint.runtime.training.path_facts import owner_of, used
from amplint.runtime.training.run_record import NotReplayable, Untrained

_ENTRIES = 8
"""So many other functions are tried, where a path shows more than the defect or no step."""


def find(file: File, diagnostic: Diagnostic) -> Found | None:
    """The hazard that a diagnostic is about.

    Args:
        file: the file as it stands.
        diagnostic: the finding.
    """
    for found in file.analysis.hazards:
        if found.hazard.kind == diagnostic.name and any(
            file.range(node) == diagnostic.range for node in _pointed_at(found.node)
        ):
            return found
    return None


def is_found_again(found: Found, before: File, own: File | None, after: File) -> bool:
    """Whether a repair leaves more of a defect in the function than the fix of the rule, which takes away one place at least.

    Args:
        found: the hazard in the file as it stands.
        before: the file as it stands.
        own: the file with the fix of the rule; None where that is what is judged, or nobody knows it.
        after: the file with the repair.
    """
    allowed = _places_in(before, found) - 1 if own is None else _places_in(own, found)
    return _places_in(after, found) > allowed


def _places_in(file: File, found: Found) -> int:
    """At how many places a function shows hazards of one kind, on whichever of its paths."""
    name = bare(found.entry.function)
    there = (each for each in file.analysis.hazards if each.hazard.kind is found.hazard.kind)
    return len({id(each.node) for each in there if bare(each.entry.function) == name})


def _pointed_at(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a node at which a diagnostic may stand: what is called, or one of the decorators."""
    if isinstance(node, cst.FunctionDef):
        return [each.decorator for each in node.decorators]
    return [node.func if isinstance(node, cst.Call) else node]


def routes(found: Found, before: File, after: File) -> tuple[Walk, Walk]:
    """A path that shows a hazard, and the same path in the code with the fix.

    Args:
        found: the hazard.
        before: the file as it stands.
        after: the file with the fix.

    Raises:
        NotReplayable: no path shows the hazard, or the same path comes to no end in the code with the fix.
        Untrained: no optimizer is stepped any more.
    """
    kind, site = found.hazard.kind, found.hazard.site
    walk = _likeliest(found, before)
    if walk is None:
        # The backward pass is in a caller out of sight, which scales the loss.
        prelude = (Scale(-1, _GIVEN, found.hazard.scaler), Backward(-1, _GIVEN))
        walk = _path_to(kind, site, found.entry, prelude)
    if walk is None:
        raise NotReplayable("no path found that shows the defect")
    counterpart = _counterpart(walk.entry, before, after)
    fixed = Walk(counterpart, walk.decisions.again(), Idle(), walk.prelude)
    fixed = (ended := walked(fixed)) or fixed
    if steps_on(walk) and not steps_on(fixed):
        raise Untrained("every step of an optimizer")
    if ended is None:
        raise NotReplayable("with the fix, the path does not come to an end")
    return walk, fixed


def _likeliest(found: Found, file: File) -> Walk | None:
    """A path that shows a hazard and goes back through a loss.

    Of several, one is the likeliest that steps, and that shows nothing else: a caller may be in sight that does what a function
    leaves to it.
    """
    kind, site = found.hazard.kind, found.hazard.site
    best = None
    for entry in (found.entry, *islice((each for each in file.analysis.entries if each is not found.entry), _ENTRIES)):
        walk = _path_to(kind, site, entry)
        if walk is None or not any(isinstance(event, Backward) for event in walk.events):
            continue
        if used(walk.events) and all(each.kind is kind for each in walk.hazards):
            return walk
        if best is None or (used(walk.events) and not used(best.events)):
            best = walk
    return best


def steps_on(walk: Walk) -> bool:
    """Whether an optimizer is stepped on a path."""
    return any(isinstance(event, (ScalerStep, OptimizerStep)) for event in walk.events)


_GIVEN = "%given"


def _path_to(kind: HazardKind, site: int, entry: Entry, prelude: tuple[Event, ...] = ()) -> Walk | None:
    """The likeliest path from an entry that shows a hazard."""
    shown: list[Walk] = []

    def leads_there(decisions: Decisions) -> bool:
        walk = walked(Walk(entry, decisions, Idle(), prelude))
        if walk is not None and any((each.kind, each.site) == (kind, site) for each in walk.hazards):
            shown.append(walk)
        return bool(shown)

    search(leads_there)
    return shown[0] if shown else None


def walked(walk: Walk) -> Walk | None:
    """A path, walked to its end; None where it comes to none.

    Args:
        walk: the path.
    """
    try:
        walk.run()
    except TooLong:
        return None
    if walk.decisions.unsettled:  # then what they come to later counts as well
        return walked(Walk(walk.entry, walk.decisions.again(), Idle(), walk.prelude))
    return walk


def _counterpart(entry: Entry, before: File, after: File) -> Entry:
    """The same function in the file with the fix: of its name, and of the namesakes the one in the same place."""
    name = bare(entry.function), entry.heir
    namesakes = [each for each in before.analysis.entries if (bare(each.function), each.heir) == name]
    fixed = [each for each in after.analysis.entries if (bare(each.function), each.heir) == name]
    definitions = {key.partition("@")[0] for key in after.analysis.program.definitions}
    if namesakes and not fixed and name[0] in definitions:
        raise Untrained(f"all training in `{name[0]}`")
    if len(namesakes) != len(fixed):
        raise NotReplayable("with the fix, the function is not found again")
    return next(there for here, there in zip(namesakes, fixed) if here is entry)


def subject_of(hazard: Hazard, path: Walk) -> str:
    """The optimizer that a hazard is about: for a scheduler, the one whose rate it sets.

    Args:
        hazard: the defect.
        path: a path that shows it.
    """
    names = dict.fromkeys(filter(None, (hazard.optimizer, *sorted(used(path.events)))))
    schedulers = [
        each.scheduler for each in path.events if isinstance(each, SchedulerStep) and each.site == hazard.site
    ]
    if not (schedulers and names):
        return hazard.optimizer
    return owner_of(schedulers[0], path.entry.objects.get(schedulers[0], ObjectFacts()), names)


def foreign_device(observable: Observable, path: Walk) -> str:
    """A device type of the code's regions on which the defect may show in another way than on those replayed.

    Args:
        observable: what is measured.
        path: a path that shows the defect.
    """
    devices = {event.region.device for event in path.events if isinstance(event, AutocastEnter)} - {NO_GRAD.device, "?"}
    return next(iter(sorted(devices - observable.devices)), "") if observable.devices else ""


def others(before: Walk, after: Walk, hazard: Hazard) -> list[str]:
    """The kinds of other defects on the path, with the code as it stands and with the fix.

    Args:
        before: the path in the code as it stands.
        after: the same path in the code with the fix.
        hazard: the defect.
    """
    mine, theirs = ({(each.kind, each.site) for each in walk.hazards} for walk in (before, after))
    again = {hazard.kind} if sum(kind is hazard.kind for kind, _ in mine) > 1 else set()
    kinds = {kind for kind, _ in mine} - {hazard.kind} | again
    return sorted(kinds & {kind for kind, _ in theirs})
