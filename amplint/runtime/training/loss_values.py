"""The losses that the names of the code stand for."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from amplint.model import events
from amplint.model.references import reference
from amplint.runtime.training.path_facts import name_words
from amplint.runtime.training.training_setup import TrainingSetup

OVERFLOW_ROUND = 2
"""The iteration, counted from 0, whose gradients are made to overflow."""

Losses = dict[str, torch.Tensor]
"""The part of a loss that depends on the parameters of each optimizer."""


class LossValues:
    """What the references of a path hold, as far as losses are computed from it.

    Args:
        setup: what is trained, and how.
    """

    def __init__(self, setup: TrainingSetup) -> None:
        self._setup = setup
        self._values: dict[str, Losses] = {}
        self._numbers: dict[str, float] = {}

    def assign(self, event: events.Assign, runs_nets: bool) -> None:
        """Let an assignment happen.

        Args:
            event: the assignment.
            runs_nets: whether forward passes belong where it stands.
        """
        # What a call is given takes no part besides, where the call was followed, and its result is known.
        given = () if reference(event.target).is_temporary and event.target in event.carried else event.args
        inputs, passed = self._differentiable(event.carried), self._differentiable(given)
        self._values.pop(event.target, None)
        self._numbers.pop(event.target, None)
        if event.target not in self._setup.feeds or event.truth is not None or event.number:
            return
        calls = event.computes and bool(given or not event.carried)
        if calls and runs_nets:
            inputs.append(self._forward())  # what was passed may be no more than the batch
        else:
            inputs += passed
        if events.GRADIENT in event.carried and not event.computes:
            inputs = inputs[-1:]  # what is propagated with a given gradient is as large as that
        if inputs:
            self.hold(event.target, self.altered(event.site, _mean(inputs)))
        elif event.computes:
            self.hold(event.target, self.altered(event.site, self._forward()))

    def hold(self, name: str, losses: Losses) -> None:
        """Let a reference stand for a loss.

        Args:
            name: what the code calls it.
            losses: its parts.
        """
        self._values[name] = losses
        self._numbers[name] = sum(float(loss.detach()) for loss in losses.values())

    def of(self, name: str) -> Losses:
        """The loss that a reference stands for; one that was computed out of sight, or before a step, is computed now.

        Of several optimizers it belongs to those that share most words with it (`loss_d`, `optimizer_d`).
        """
        known = self._known(name)
        if not known:
            known = self._forward()
            self.hold(name, known)
        shared = {owner: len(name_words(owner) & name_words(name)) for owner in known}
        most = max(shared.values())
        return {owner: loss for owner, loss in known.items() if shared[owner] == most}

    def number(self, name: str) -> float | None:
        """What a reference held last, as a number; None where it is no loss."""
        return next((self._numbers[each] for each in reference(name).wholes if each in self._numbers), None)

    def altered(self, site: int, losses: Losses) -> Losses:
        """Losses as a repair has them at a place.

        Args:
            site: the place.
            losses: those that the code had there.
        """
        alter = self._setup.alterations.get(site)
        return losses if alter is None else {name: alter(loss) for name, loss in losses.items()}

    def forget(self, optimizer: str) -> None:
        """Forget what was computed with the parameters that an optimizer had before its step."""
        for losses in self._values.values():
            losses.pop(optimizer, None)

    def _known(self, name: str) -> Losses | None:
        return next((self._values[each] for each in reference(name).wholes if each in self._values), None)

    def _differentiable(self, names: Iterable[str]) -> list[Losses]:
        values = map(self._known, names)
        return [value for value in values if value and all(loss.requires_grad for loss in value.values())]

    def _forward(self) -> Losses:
        problem, rounds = self._setup.problem, self._setup.rounds
        return problem.losses({name for name in problem.nets if rounds.coming_of(name) == OVERFLOW_ROUND})


def _mean(values: list[Losses]) -> Losses:
    """One value of several: their mean, so that gradients keep their magnitude however many there are."""
    names = dict.fromkeys(name for value in values for name in value)
    parts = {name: [value[name] for value in values if name in value] for name in names}
    return {name: sum(each[1:], each[0]) / len(each) for name, each in parts.items()}
