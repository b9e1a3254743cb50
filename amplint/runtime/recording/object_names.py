"""Stable names for the objects of a running program, and what is known of each."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from amplint.model.events import ObjectFacts
from amplint.runtime.recording.tensor_facts import GRAD


class ObjectNames:
    """Names objects in the order in which they are met: `scaler#1`, `optimizer#1`, `scheduler#1`, `model#1`.

    The parameters of an optimizer go by one reference, `optimizer#1.parameters`. Objects are not kept alive; a name is never
    given twice.
    """

    def __init__(self) -> None:
        self.objects: dict[str, ObjectFacts] = {}
        self._lock = threading.RLock()
        self._known: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._counts: dict[str, int] = {}
        self._optimizers: dict[str, weakref.ref[Any]] = {}
        self._members: dict[str, tuple[int, frozenset[int]]] = {}

    def scaler(self, scaler: Any) -> str:
        """The name of a scaler."""
        enabled = "yes" if scaler.is_enabled() else "no"
        return self._name(scaler, ObjectFacts("scaler", enabled=enabled, made=True))

    def optimizer(self, optimizer: Any) -> str:
        """The name of an optimizer."""
        return self._name(optimizer, ObjectFacts("optimizer", made=True))

    def scheduler(self, scheduler: Any) -> str:
        """The name of a scheduler; its optimizer gets one, too."""
        optimizer = getattr(scheduler, "optimizer", None)
        owners = (self.optimizer(optimizer),) if isinstance(optimizer, torch.optim.Optimizer) else ()
        return self._name(scheduler, ObjectFacts("scheduler", owners, made=True))

    def model(self, module: Any) -> str:
        """The name of a module."""
        return self._name(module, ObjectFacts("model", made=True))

    def fresh(self, kind: str) -> str:
        """The next name of a kind."""
        with self._lock:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            return f"{kind}#{self._counts[kind]}"

    def _name(self, target: Any, facts: ObjectFacts) -> str:
        with self._lock:
            reference, name = self._known.get(id(target), (None, ""))
            if reference is not None and reference() is target:
                return name
            name = self.fresh(facts.role)
            reference = weakref.ref(target)
            self._known[id(target)] = reference, name
            if facts.role == "optimizer":
                facts = replace(facts, owners=parameters_of([name]))
                self._optimizers[name] = reference
                self._members[name] = _members_of(target)
            self.objects[name] = facts
            return name

    # -- who owns which parameters ---------------------------------------------------------------------------------

    def optimizers(self) -> tuple[str, ...]:
        """The optimizers met so far."""
        return tuple(self._optimizers)

    def optimizer_named(self, name: str) -> Any | None:
        """The optimizer of that name; None where there is none any more."""
        reference = self._optimizers.get(name)
        return None if reference is None else reference()

    def members(self) -> Mapping[str, frozenset[int]]:
        """The parameters (by id) of every optimizer met so far; those that an optimizer had when it was seen last."""
        with self._lock:
            for name, optimizer in self._living():
                known, _ = self._members[name]
                if known != sum(len(group["params"]) for group in optimizer.param_groups):  # a group was added
                    self._members[name] = _members_of(optimizer)
            return {name: members for name, (_, members) in self._members.items()}

    def owners(self, given: Iterable[torch.Tensor]) -> tuple[str, ...]:
        """The optimizers that own some of these parameters."""
        wanted = frozenset(map(id, given))
        return tuple(name for name, members in self.members().items() if not wanted.isdisjoint(members))

    def covered(self, given: Iterable[torch.Tensor]) -> tuple[str, ...]:
        """The optimizers all of whose parameters are among these."""
        wanted = frozenset(map(id, given))
        return tuple(name for name, members in self.members().items() if members <= wanted)

    def without_gradients(self, parameter: torch.Tensor) -> tuple[str, ...]:
        """The owners of a parameter none of whose parameters holds a gradient."""
        owners = self.owners([parameter])
        return tuple(
            name
            for name, optimizer in self._living()
            # From the end: a loop that clears one parameter after the other meets a full one at once.
            if name in owners and all(GRAD.__get__(each) is None for each in reversed(optimizer_parameters(optimizer)))
        )

    def _living(self) -> list[tuple[str, Any]]:
        found = [(name, reference()) for name, reference in self._optimizers.items()]
        return [(name, optimizer) for name, optimizer in found if optimizer is not None]


def optimizer_parameters(optimizer: Any) -> list[torch.Tensor]:
    """The parameters of an optimizer."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _members_of(optimizer: Any) -> tuple[int, frozenset[int]]:
    owned = optimizer_parameters(optimizer)
    return len(owned), frozenset(map(id, owned))


def parameters_of(optimizers: Iterable[str]) -> tuple[str, ...]:
    """The references of the parameters of optimizers."""
    return tuple(f"{name}.parameters" for name in optimizers)
