"""What the events of a path tell before they happen: which values become losses, who steps whom, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from amplint.model.events import (
    Assign,
    Backward,
    Clip,
    Event,
    ObjectFacts,
    OptimizerStep,
    Scale,
    ScalerStep,
    Unscale,
    ZeroGrad,
)  # fmt: skip
from amplint.model.references import reference
from amplint.runtime.training.iterations import Rounds

Clipped = tuple[frozenset[str], ...]
"""For each clip of a path, the optimizers whose gradients it may be taken for."""


_PLAIN = frozenset(
    {"opt", "optim", "optimizer", "optimizers", "net", "model", "module", "params", "parameters", "self"}
)
"""Words of names that do not tell one optimizer, or one model, from another."""


def name_words(reference: str) -> set[str]:
    """The words of which the name of an object is made: `netD` of `net` and `d`."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.split(r"[./:]", reference)[-1])
    return {word for word in re.split(r"[_\W\d]+", name.lower()) if word}


def namesakes(owners: Iterable[str], optimizers: Iterable[str]) -> list[str]:
    """The optimizers that are called like what the parameters belong to, of which a name may be cut short (`opt_g`, `gen`).

    Args:
        owners: the references to what the parameters belong to.
        optimizers: the references to optimizers.
    """
    called = set().union(*map(name_words, owners)) - _PLAIN
    return [
        name
        for name in optimizers
        if any(one.startswith(other) or other.startswith(one) for one in name_words(name) - _PLAIN for other in called)
    ]


def clip_owners(before: Sequence[Event], after: Sequence[Event]) -> tuple[Clipped, Clipped]:
    """The optimizers whose gradients each clip of two paths is taken for, where the code does not say whose parameters they are.

    Those that are unscaled just then, or else those that step before anything else happens to gradients. Where only the path
    with the fix unscales, that tells for both.

    Args:
        before: the events of the path in the code as it stands.
        after: those of the same path in the code with the fix.
    """
    mine, theirs = list(_clipped(before)), list(_clipped(after))
    if len(mine) == len(theirs):
        mine = [other if other < one else one for one, other in zip(mine, theirs)]
    return tuple(mine), tuple(theirs)


def _clipped(events: Sequence[Event]) -> Iterator[frozenset[str]]:
    unscaled: set[str] = set()
    for place, event in enumerate(events):
        if isinstance(event, Backward):
            unscaled.clear()
        elif isinstance(event, Unscale):
            unscaled.add(event.optimizer)
        elif isinstance(event, (ScalerStep, OptimizerStep)):
            unscaled.discard(event.optimizer)
        elif isinstance(event, Clip):
            yield frozenset(unscaled) or frozenset(_stepped_after(events[place + 1 :]))


def _repeated_clips(events: Sequence[Event]) -> frozenset[int]:
    """The clips, by their number on the path, that the same place makes again after more gradients and before a step."""
    waiting: dict[int, int] = {}
    added: set[int] = set()
    repeated: set[int] = set()
    number = 0
    for event in events:
        if isinstance(event, Backward):
            added |= waiting.keys()
        elif isinstance(event, (ScalerStep, OptimizerStep)):
            waiting.clear()
            added.clear()
        elif isinstance(event, Clip):
            if event.site in added:
                repeated.add(waiting[event.site])
            waiting[event.site] = number
            added.discard(event.site)
            number += 1
    return frozenset(repeated)


def _early_clears(events: Sequence[Event]) -> frozenset[int]:
    """The clearings, by their number on the path, of gradients that an optimizer steps on next: they were meant for after it."""
    early: set[int] = set()
    waiting: dict[int, str] = {}
    pending = False
    number = 0
    for event in events:
        if isinstance(event, Backward):
            pending = True
            waiting.clear()
        elif isinstance(event, (ScalerStep, OptimizerStep)):
            early |= {one for one, name in waiting.items() if name in ("", event.optimizer)}
            pending = False
        elif isinstance(event, ZeroGrad):
            if pending:
                waiting[number] = event.optimizer
            number += 1
    return frozenset(early)


def _stepped_after(events: Sequence[Event]) -> Iterator[str]:
    """The optimizers that step before gradients are clipped, cleared or added to again."""
    for event in events:
        if isinstance(event, (Backward, Clip, ZeroGrad)):
            return
        if isinstance(event, (ScalerStep, OptimizerStep)):
            yield event.optimizer


def likest(reference: str, names: Iterable[str]) -> str:
    """The name that shares most words with a reference."""
    return max(names, key=lambda name: len(name_words(name) & name_words(reference)))


def owner_of(scheduler: str, facts: ObjectFacts, optimizers: Iterable[str]) -> str:
    """The optimizer whose rate a scheduler sets: the one it is made with, or else the likest by name, of equals the first.

    Args:
        scheduler: the reference to it.
        facts: how the code makes it.
        optimizers: the references to those that it may belong to.
    """
    optimizers = list(optimizers)
    return next((owner for owner in facts.owners if owner in optimizers), "") or likest(scheduler, optimizers)


def feeding(events: Iterable[Event]) -> frozenset[str]:
    """The references whose values go into a loss."""
    assigned: dict[str, set[str]] = {}
    wanted: set[str] = set()
    for event in events:
        if isinstance(event, Assign):
            assigned.setdefault(event.target, set()).update(event.carried, event.args)
        elif isinstance(event, Scale):
            assigned.setdefault(event.target, set()).add(event.source)
        elif isinstance(event, Backward):
            wanted.add(event.loss)
    waiting, found = list(wanted), set[str]()
    while waiting:
        for each in reference(waiting.pop()).wholes:
            if each in found:
                break
            found.add(each)
            waiting += assigned.get(each, ())
    return frozenset(found)


def used(events: Iterable[Event]) -> set[str]:
    """The optimizers that events name; among them an empty name, if one that is stepped cannot be told."""
    steps = (OptimizerStep, ScalerStep, Unscale)
    return {
        event.optimizer
        for event in events
        if isinstance(event, steps) or (isinstance(event, ZeroGrad) and event.optimizer)
    }


@dataclass(frozen=True)
class Intent:
    """What the author of a path meant, where what it does is not that: each optimizer steps once in an iteration, on gradients
    that are clipped once and not cleared before.

    Attributes:
        steps: how many steps the path takes for an optimizer in an iteration: the last one counts.
        repeated_clips: the clips, by their number, that are made again before the step.
        early_clears: the clearings, by their number, that are meant for after the step.
        scalers: the scalers of each optimizer; nothing where one of them scales no loss, and the path mixes them up.
        schedules_of_steps: the sites at which a schedule goes by the step of its own iteration, whatever came before.
    """

    steps: Mapping[tuple[str, int], int]
    repeated_clips: frozenset[int]
    early_clears: frozenset[int]
    scalers: Mapping[str, frozenset[str]]
    schedules_of_steps: frozenset[int]

    @classmethod
    def of(cls, events: Sequence[Event], schedules_of_steps: Iterable[int]) -> Intent:
        """What was meant by the events of a path.

        Args:
            events: what happens on it.
            schedules_of_steps: see above.
        """
        scalers = scalers_of(events)
        scaling = {event.scaler for event in events if isinstance(event, Scale)}
        is_plain = all(each <= scaling for each in scalers.values())
        return cls(
            _step_counts(events),
            _repeated_clips(events),
            _early_clears(events),
            scalers if is_plain else {},
            frozenset(schedules_of_steps),
        )


def _step_counts(events: Iterable[Event]) -> dict[tuple[str, int], int]:
    """How many steps each optimizer takes in each iteration."""
    rounds, found = Rounds(), dict[tuple[str, int], int]()
    for event in events:
        rounds.on(event)
        if isinstance(event, (OptimizerStep, ScalerStep)):
            at = event.optimizer, rounds.of(event.optimizer)
            found[at] = found.get(at, 0) + 1
    return found


def scalers_of(events: Iterable[Event]) -> dict[str, frozenset[str]]:
    """The scalers that step or unscale each optimizer."""
    found: dict[str, set[str]] = {}
    for event in events:
        if isinstance(event, (ScalerStep, Unscale)):
            found.setdefault(event.optimizer, set()).add(event.scaler)
    return {name: frozenset(scalers) for name, scalers in found.items()}


def optimizers_scaled_by(scaler: str, optimizers: Iterable[str], scalers: Mapping[str, frozenset[str]]) -> list[str]:
    """The optimizers to which a loss belongs that one of several scalers scales: those that this scaler steps.

    Args:
        scaler: the reference to it.
        optimizers: those that the loss could be of.
        scalers: see `scalers_of`; what is not in there belongs to any.
    """
    return [name for name in optimizers if scaler in scalers.get(name, {scaler})]
