"""What training runs are made of: values, optimizers, schedulers, and the record of every step.

`Training` makes the events happen that mean the same with and without AMP; `amplint.runtime.training.amp_and_reference`
adds the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch

from amplint.model import events
from amplint.model.event_graph import Test
from amplint.model.literals import number
from amplint.model.references import reference
from amplint.runtime.training import torch_objects
from amplint.runtime.training.iterations import Rounds
from amplint.runtime.training.path_facts import Clipped, name_words, namesakes, owner_of
from amplint.runtime.training.run_record import NotReplayable, RunRecord, Step
from amplint.runtime.training.toy_problem import ToyProblem

OVERFLOW_ROUND = 2
"""The iteration, counted from 0, whose gradients are made to overflow."""
ASSUMED_LIMIT = 1.0
"""The threshold of a clip whose author does not write it down."""

_NORM, _ELEMENT = 0.5, 0.05
"""What the norm of the gradients of a net stays above, and their largest element."""

Alteration = Callable[[torch.Tensor], torch.Tensor]
"""What a repair puts around a loss."""
Losses = dict[str, torch.Tensor]
"""The part of a loss that depends on the parameters of each optimizer."""


@dataclass(frozen=True)
class TrainingSetup:
    """What a run of training is given, with AMP and without.

    Attributes:
        problem: nets and losses.
        objects: how the code makes the objects that events name.
        rounds: which iteration it is, kept by whoever tells of the events.
        feeds: the values that losses are computed from; others are not computed.
        clipped: for each clip of the path, whose gradients it is taken for, where its parameters do not tell.
        unit: the author's limits of clips are in units of this, so that they bind: gradients here are small.
        alterations: what a repair does to the losses at some sites.
        keeps_graphs: whether a loss may be propagated again: a loop over losses meets the same one, where the code does not.
        cleared: whether a caller out of sight clears gradients after each step: nobody in sight does.
    """

    problem: ToyProblem
    objects: Mapping[str, events.ObjectFacts]
    rounds: Rounds
    feeds: frozenset[str]
    clipped: Clipped
    cleared: bool
    unit: float
    alterations: Mapping[int, Alteration] = field(default_factory=dict)
    keeps_graphs: bool = True


class Training(ABC):
    """A run of training in which events happen for real.

    Args:
        setup: what is trained, and how.
    """

    def __init__(self, setup: TrainingSetup) -> None:
        self.record = RunRecord()
        self.problem, self.rounds = setup.problem, setup.rounds
        self.objects, self._feeds, self._cleared = setup.objects, setup.feeds, setup.cleared
        self._clipped, self._alterations = iter(setup.clipped), setup.alterations
        self._keeps_graphs, self._unit = setup.keeps_graphs, setup.unit
        self.optimizers = {
            name: torch_objects.optimizer(self.objects.get(name, events.ObjectFacts()), self.problem.parameters(name))[
                0
            ]
            for name in self.problem.nets
        }
        self.record.optimizers = {name: torch_objects.described(one) for name, one in self.optimizers.items()}
        self._began = {name: flat(self.problem.parameters(name)) for name in self.problem.nets}
        self._schedulers: dict[str, tuple[str, torch.optim.lr_scheduler.LRScheduler]] = {}
        self._values: dict[str, Losses] = {}
        self._numbers: dict[str, float] = {}
        self._regions: list[events.Region] = []
        self._stepped: set[str] = set()
        """The optimizers that were stepped since the last backward pass."""

    def do(self, event: events.Event) -> None:
        """Make an event happen."""
        match event:
            case events.Assign():
                self._assign(event)
            case events.AutocastEnter():
                self._regions.append(event.region)
            case events.AutocastExit():
                self._regions.pop()
            case events.Report():
                self._report(event)
            case events.Backward():
                self._backward(event)
            case events.ZeroGrad():
                self.clear(event)
            case events.Clip():
                meant = next(self._clipped, frozenset())
                self.clip(
                    event, self.owners(event, [one for one in self.optimizers if one in meant] or self.optimizers)
                )
            case events.GradAccess():
                self._access(event)
            case _:
                self.scale_or_step(event)

    @abstractmethod
    def scale_or_step(self, event: events.Event) -> None:
        """Make an event of a scaler, an optimizer or a scheduler happen."""

    @abstractmethod
    def region(self, region: events.Region) -> AbstractContextManager[object]:
        """The context of an autocast or no-grad region."""

    @abstractmethod
    def has_skipped(self, test: Test) -> bool:
        """Whether the scale that a condition asks about fell."""

    # -- values ----------------------------------------------------------------------------------------------------

    def _assign(self, event: events.Assign) -> None:
        # What a call is given takes no part besides, where the call was followed, and its result is known.
        given = () if event.target.startswith("%") and event.target in event.carried else event.args
        inputs, passed = self._differentiable(event.carried), self._differentiable(given)
        self._values.pop(event.target, None)
        self._numbers.pop(event.target, None)
        if event.target not in self._feeds or event.truth is not None or event.number:
            return
        calls = event.computes and bool(given or not event.carried)
        if calls and self._in_region:
            inputs.append(self._forward())  # what was passed may be no more than the batch
        else:
            inputs += passed
        if events.GRADIENT in event.carried and not event.computes:
            inputs = inputs[-1:]  # what is propagated with a given gradient is as large as that
        if inputs:
            self.assign(event.target, self.altered(event.site, _mean(inputs)))
        elif event.computes:
            self.assign(event.target, self.altered(event.site, self._forward()))

    def _differentiable(self, references: Iterable[str]) -> list[Losses]:
        values = (self._known(reference) for reference in references)
        return [value for value in values if value and all(loss.requires_grad for loss in value.values())]

    @property
    def _in_region(self) -> bool:
        """Whether forward passes belong here: the code may be in an autocast region that is enabled."""
        regions = [region for region in self._regions if region.device != "grad"]
        return bool(regions) and regions[-1].lowers

    def _known(self, name: str) -> Losses | None:
        return next((self._values[each] for each in reference(name).wholes if each in self._values), None)

    def loss(self, reference: str) -> Losses:
        """The loss that a reference stands for; one that was computed out of sight, or before a step, is computed now.

        Of several optimizers it belongs to those that share most words with it (`loss_d`, `optimizer_d`).
        """
        known = self._known(reference)
        if not known:
            known = self._forward()
            self.assign(reference, known)
        shared = {name: len(name_words(name) & name_words(reference)) for name in known}
        most = max(shared.values())
        return {name: loss for name, loss in known.items() if shared[name] == most}

    def assign(self, reference: str, value: Losses) -> None:
        """Let a reference stand for a loss.

        Args:
            reference: what the code calls it.
            value: the losses.
        """
        self._values[reference] = value
        self._numbers[reference] = sum(float(loss.detach()) for loss in value.values())

    def _report(self, event: events.Report) -> None:
        known = [each for each in reference(event.value).wholes if each in self._numbers]
        if known:
            self.record.reported.setdefault(event.site, []).append(self._numbers[known[0]])

    def _forward(self) -> Losses:
        overflowing = {name for name in self.optimizers if self.rounds.coming_of(name) == OVERFLOW_ROUND}
        return self.problem.losses(overflowing)

    def altered(self, site: int, losses: Losses) -> Losses:
        """Losses as a repair has them at a place.

        Args:
            site: the place.
            losses: those that the code had there.
        """
        alter = self._alterations.get(site)
        return losses if alter is None else {name: alter(loss) for name, loss in losses.items()}

    # -- gradients -------------------------------------------------------------------------------------------------

    def _backward(self, event: events.Backward) -> None:
        losses = self.altered(event.site, self.loss(event.loss))
        if not all(loss.requires_grad for loss in losses.values()):
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        for name in self._stepped if self._cleared else ():
            self.optimizers[name].zero_grad()
        self._stepped.clear()
        before = {name: self.gradient(name) for name in losses}
        torch.autograd.backward(list(losses.values()), retain_graph=self._keeps_graphs)
        after = {name: self.gradient(name) for name in losses}
        self.record.backward.append({name: after[name] - before[name] for name in losses})

    def gradient(self, optimizer: str) -> torch.Tensor:
        """The gradients of an optimizer's parameters as one vector; none are zero."""
        parameters = self.problem.parameters(optimizer)
        return flat(torch.zeros_like(each) if each.grad is None else each.grad for each in parameters)

    def owners(self, event: events.Clip | events.ZeroGrad | events.GradAccess, unknown: Iterable[str]) -> list[str]:
        """The optimizers whose gradients an event concerns.

        Args:
            event: what happens to gradients.
            unknown: those that are meant where the code does not tell whose parameters they are.
        """
        if not isinstance(event, events.GradAccess) and event.optimizer:
            return [event.optimizer] if event.optimizer in self.optimizers else []
        named = {event.owner} if isinstance(event, events.ZeroGrad) else set(event.owners)
        owning = [name for name in self.optimizers if named & set(self.objects.get(name, events.ObjectFacts()).owners)]
        return owning or namesakes(named, self.optimizers) or list(unknown)

    def clear(self, event: events.ZeroGrad) -> None:
        """Clear gradients.

        Args:
            event: whose.
        """
        for name in self.owners(event, self.optimizers):
            self.optimizers[name].zero_grad()

    def clip(self, event: events.Clip, owners: list[str]) -> None:
        """Clip the gradients of some optimizers.

        Args:
            event: how they are clipped.
            owners: the optimizers.
        """
        known = number(event.limit)
        limit = ASSUMED_LIMIT if known is None else known
        limit *= self._unit
        parameters = [each for name in owners for each in self.problem.parameters(name)]
        if by_value(event):
            torch.nn.utils.clip_grad_value_(parameters, limit)
        else:
            torch.nn.utils.clip_grad_norm_(parameters, limit, error_if_nonfinite=event.raises)

    def _access(self, event: events.GradAccess) -> None:
        names = self.owners(event, self.optimizers)
        if event.by == events.ADD:
            for parameter in (each for name in names for each in self.problem.parameters(name)):
                if parameter.grad is not None:
                    parameter.grad += parameter.detach()
        elif event.writes:
            raise NotReplayable("gradients are changed by hand")
        elif event.by:
            self.record.readings.append(float(flat(map(self.gradient, names)).norm()))

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, name: str, call: Callable[[], object], scale: float = 1.0) -> None:
        """Let an optimizer step, and record it.

        Args:
            name: the optimizer.
            call: makes it step.
            scale: the loss scale of the scaler that steps it.
        """
        optimizer, parameters = self.optimizers[name], self.problem.parameters(name)
        self._stepped.add(name)
        seen: list[torch.Tensor | None] = []
        hook = optimizer.register_step_pre_hook(lambda stepping, *_: seen.append(_seen(stepping, self.gradient(name))))
        before = flat(parameters)
        try:
            call()
        finally:
            hook.remove()
        for losses in self._values.values():
            losses.pop(name, None)  # what was computed with other parameters
        after = flat(parameters)
        taken = seen[0] if seen else None
        changed, rate = not bool(torch.equal(before, after)), float(optimizer.param_groups[0]["lr"])
        moved = after - self._began[name]
        self.record.steps.append(Step(name, self.rounds.of(name), taken, moved, changed, rate, scale))

    def advance(self, scheduler: str) -> None:
        """Let a scheduler step."""
        name, real = self._scheduler(scheduler)
        leads = self.record.leads.setdefault(scheduler, [])
        taken = sum(step.optimizer == name and step.gradient is not None for step in self.record.steps)
        leads.append(len(leads) + 1 - taken)
        real.step()

    def owner(self, scheduler: str) -> str:
        """The optimizer whose rate a scheduler sets."""
        return self._scheduler(scheduler)[0]

    def _scheduler(self, reference: str) -> tuple[str, torch.optim.lr_scheduler.LRScheduler]:
        if reference not in self._schedulers:
            facts = self.objects.get(reference, events.ObjectFacts())
            recent = [step.optimizer for step in reversed(self.record.steps)]  # of equals, the last that stepped
            name = owner_of(reference, facts, dict.fromkeys((*recent, *self.optimizers)))
            self._schedulers[reference] = name, torch_objects.scheduler(facts, self.optimizers[name])
        return self._schedulers[reference]


def by_value(event: events.Clip) -> bool:
    """Whether each element is clipped for itself: a clip by hand, too, if its limit is a number and no coefficient."""
    return event.by == "value" or (event.by == "hand" and number(event.limit) is not None)


def clip_unit(path: Iterable[events.Event]) -> float | None:
    """The unit in which all limits of the clips on a path bind; None without a clip."""
    units = [
        min(1.0, (_ELEMENT if by_value(event) else _NORM) / limit)
        for event in path
        if isinstance(event, events.Clip) and (limit := number(event.limit) or ASSUMED_LIMIT) > 0
    ]
    return min(units, default=None)


def flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """All elements as one vector on the CPU."""
    return torch.cat([tensor.detach().flatten().float().cpu() for tensor in tensors])


def _seen(optimizer: torch.optim.Optimizer, gradient: torch.Tensor) -> torch.Tensor | None:
    """The gradients that an optimizer is about to use; None when it will not, which a fused one decides for itself."""
    found_inf, scale = getattr(optimizer, "found_inf", None), getattr(optimizer, "grad_scale", None)
    if found_inf is not None and float(found_inf) > 0:  # 0, no tensor, where there were no gradients
        return None
    return gradient if scale is None else gradient / scale.cpu()


def _mean(values: list[Losses]) -> Losses:
    """One value of several: their mean, so that gradients keep their magnitude however many there are."""
    names = dict.fromkeys(name for value in values for name in value)
    parts = {name: [value[name] for value in values if name in value] for name in names}
    return {name: sum(each[1:], each[0]) / len(each) for name, each in parts.items()}
