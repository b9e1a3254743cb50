"""What training runs are made of: values, optimizers, schedulers, and the record of every step.

`Training` makes the events happen that mean the same with and without AMP; `amplint.runtime.training.amp_and_reference`
adds the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import torch

from amplint.model import events
from amplint.model.event_graph import Test
from amplint.model.literals import number
from amplint.runtime.training import torch_objects
from amplint.runtime.training.clip_limits import ASSUMED_LIMIT, by_value
from amplint.runtime.training.loss_values import LossValues
from amplint.runtime.training.path_facts import namesakes, owner_of
from amplint.runtime.training.run_record import NotReplayable, RunRecord, Step
from amplint.runtime.training.training_setup import TrainingSetup

_EUCLIDEAN = 2.0
"""The kind of norm by which torch clips, unless it is told another one."""


class Training(ABC):
    """A run of training in which events happen for real.

    Args:
        setup: what is trained, and how.
    """

    def __init__(self, setup: TrainingSetup) -> None:
        self.record = RunRecord()
        self.problem, self.rounds = setup.problem, setup.rounds
        self.objects, self.losses = setup.objects, LossValues(setup)
        self._setup, self._clipped = setup, iter(setup.clipped)
        self.optimizers = {
            name: torch_objects.optimizer(self.objects.get(name, events.ObjectFacts()), self.problem.parameters(name))[
                0
            ]
            for name in self.problem.nets
        }
        self.record.optimizers = {name: torch_objects.described(one) for name, one in self.optimizers.items()}
        self._began = {name: flat(self.problem.parameters(name)) for name in self.problem.nets}
        self._schedulers: dict[str, tuple[str, torch.optim.lr_scheduler.LRScheduler]] = {}
        self._regions: list[events.Region] = []
        self._stepped: set[str] = set()
        """The optimizers that were stepped since the last backward pass."""

    def do(self, event: events.Event) -> None:
        """Make an event happen."""
        match event:
            case events.Assign():
                self.assign(event)
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

    # -- losses ----------------------------------------------------------------------------------------------------

    def assign(self, event: events.Assign) -> None:
        """Make an assignment happen."""
        self.losses.assign(event, self._in_region)

    @property
    def _in_region(self) -> bool:
        """Whether forward passes belong here: the code may be in an autocast region that is enabled."""
        regions = [region for region in self._regions if region.device != "grad"]
        return bool(regions) and regions[-1].lowers

    def _report(self, event: events.Report) -> None:
        shown = self.losses.number(event.value)
        if shown is not None:
            self.record.reported.setdefault(event.site, []).append(shown)

    # -- gradients -------------------------------------------------------------------------------------------------

    def _backward(self, event: events.Backward) -> None:
        losses = self.losses.altered(event.site, self.losses.of(event.loss))
        if not all(loss.requires_grad for loss in losses.values()):
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        for name in self._stepped if self._setup.cleared else ():
            self.optimizers[name].zero_grad()
        self._stepped.clear()
        before = {name: self.gradient(name) for name in losses}
        torch.autograd.backward(list(losses.values()), retain_graph=self._setup.keeps_graphs)
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
        limit *= self._setup.unit
        parameters = [each for name in owners for each in self.problem.parameters(name)]
        if by_value(event):
            torch.nn.utils.clip_grad_value_(parameters, limit)
        else:
            order = number(event.order) or _EUCLIDEAN
            torch.nn.utils.clip_grad_norm_(parameters, limit, order, error_if_nonfinite=event.raises)

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
            self.record.reading_sites.append(event.site)

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
        self.losses.forget(name)
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


def flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """All elements as one vector on the CPU."""
    return torch.cat([tensor.detach().flatten().float().cpu() for tensor in tensors])


def _seen(optimizer: torch.optim.Optimizer, gradient: torch.Tensor) -> torch.Tensor | None:
    """The gradients that an optimizer is about to use; None when it will not, which a fused one decides for itself."""
    found_inf, scale = getattr(optimizer, "found_inf", None), getattr(optimizer, "grad_scale", None)
    if found_inf is not None and float(found_inf) > 0:  # 0, no tensor, where there were no gradients
        return None
    return gradient if scale is None else gradient / scale.cpu()
