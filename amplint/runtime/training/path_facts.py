"""What the events of a path tell before they happen: which values become losses, who steps whom, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterable

from amplint.model.events import (
    Assign,
    Backward,
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


def name_words(reference: str) -> set[str]:
    """The words of which the name of an object is made."""
    name = re.split(r"[./:]", reference)[-1]
    return {word for word in re.split(r"[_\W\d]+", name.lower()) if word}


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


def step_counts(events: Iterable[Event]) -> dict[tuple[str, int], int]:
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
