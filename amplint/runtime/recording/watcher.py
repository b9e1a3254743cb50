"""From calls of torch to events: what every watcher shares."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from amplint.model.events import MEASURE, GradAccess, ZeroGrad
from amplint.runtime.recording.call_sites import SourceLine
from amplint.runtime.recording.event_log import Journal, Make, MeasuredFacts, Move, Recorded
from amplint.runtime.recording.object_names import ObjectNames, parameters_of
from amplint.runtime.recording.tensor_facts import unseen

Locate = Callable[[], "SourceLine | None"]
Arguments = tuple[Any, ...]
Named = dict[str, Any]
Called = Callable[..., Any]


class Access:
    """Gradients that one line of the program has got hold of, one after the other."""

    def __init__(self, place: SourceLine) -> None:
        self.place = place
        self.owners: dict[str, None] = {}
        self.parameters: set[int] = set()
        self.wrote = False
        self.measured = False
        self._held: list[tuple[torch.Tensor, int]] = []

    def hold(self, grad: torch.Tensor) -> None:
        """Remember a gradient as it is now."""
        self._held.append((grad, _version(grad)))

    def holds(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is one of these gradients, or another view of its memory."""
        with unseen():
            return any(grad.data_ptr() == tensor.data_ptr() for grad, _ in reversed(self._held))

    def changed(self) -> bool:
        """Whether any of them was changed since, in place or by assignment."""
        return self.wrote or any(_version(grad) != version for grad, version in self._held)


class _Pending(threading.local):
    """The access of this thread that has not been written down, because it may yet turn out to be a change."""

    def __init__(self) -> None:
        self.access: Access | None = None


class Watch:
    """Files what the program does under the line that does it.

    Args:
        locate: says which line of the program is running.
        follow: gets each move at once, in place of a journal that keeps them.
    """

    def __init__(self, locate: Locate, follow: Callable[[Move], None] | None = None) -> None:
        self.names = ObjectNames()
        self.journal = Journal(follow)
        self.scales: dict[str, float] = {}
        self._locate = locate
        self._pending = _Pending()
        self._reached: dict[frozenset[int], frozenset[int]] = {}

    def file(self, make: Make) -> Recorded | None:
        """Write an event down, before the call is made; None when no line of the program makes it."""
        self.settle_access()
        place = self._locate()
        return None if place is None else self.journal.file(place, make)

    def run(self, recorded: Recorded, call: Called, args: Arguments, kwargs: Named) -> Any:
        """Make the call; if it raises, that is written down.

        Args:
            recorded: the event that the call is.
            call: what the program has called.
            args: what it gives by position.
            kwargs: what it gives by name.
        """
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            recorded.values["raised"] = type(error).__name__
            self.journal.conclude(recorded)
            raise

    # -- gradients in the program's hands --------------------------------------------------------------------------

    def touch(self, parameter: torch.Tensor, grad: torch.Tensor, wrote: bool = False) -> None:
        """The program has read a gradient, or assigned one.

        Args:
            parameter: the one whose gradient it is.
            grad: the gradient.
            wrote: whether it was assigned.
        """
        owners = self.names.owners([parameter])
        place = self._locate()
        if place is None or (not owners and self.names.optimizers()):
            return
        access = self._pending.access
        if access is None or access.place != place:
            self.settle_access()
            access = self._pending.access = Access(place)
        access.owners |= dict.fromkeys(owners)
        access.parameters.add(id(parameter))
        access.wrote |= wrote
        if not wrote:
            access.hold(grad)

    def settle_access(self) -> None:
        """Write down a pending access, now that it is known whether it was a change."""
        access, self._pending.access = self._pending.access, None
        if access is None:
            return
        owners, writes = tuple(access.owners), access.changed()
        by = MEASURE if access.measured and not writes else ""
        recorded = self.journal.file(access.place, lambda site: GradAccess(site, parameters_of(owners), writes, by))
        self.journal.conclude(recorded, MeasuredFacts(reached=frozenset(access.parameters)))

    def measure_access(self, tensor: torch.Tensor) -> None:
        """The norm of a tensor is taken: perhaps of a gradient that the program has just got hold of."""
        access = self._pending.access
        if access is not None and not access.measured and access.holds(tensor):
            access.measured = True

    def claim_access(self, tensor: torch.Tensor) -> tuple[str, ...] | None:
        """The owners of a gradient that the program has just got hold of, to be filed as something else; None for others."""
        access = self._pending.access
        if access is None or not access.holds(tensor):
            return None
        self._pending.access = None
        return tuple(access.owners)

    def kept_once(self, parameters: Iterable[torch.Tensor]) -> frozenset[int]:
        """The ids of parameters; a set that comes up in every iteration is kept once."""
        ids = frozenset(map(id, parameters))
        return self._reached.setdefault(ids, ids)

    def clear(self, parameter: torch.Tensor) -> None:
        """The program has set a gradient to None."""
        for name in self.names.without_gradients(parameter):
            recorded = self.file(partial(ZeroGrad, optimizer=name))
            if recorded is not None:
                self.journal.conclude(recorded)


def given_argument(args: Arguments, kwargs: Named, position: int, name: str, default: Any = None) -> Any:
    """An argument given by position or by name.

    Args:
        args: what is given by position.
        kwargs: what is given by name.
        position: the index of the argument.
        name: its name.
        default: what it is where it is not given.
    """
    return args[position] if len(args) > position else kwargs.get(name, default)


def several(values: Any) -> list[Any]:
    """The values of a mapping or an iterable; anything else, a tensor too, as the only one."""
    if isinstance(values, dict):
        return list(values.values())
    return list(values) if isinstance(values, Iterable) and not isinstance(values, torch.Tensor) else [values]


def _version(tensor: torch.Tensor) -> int:
    with unseen():
        return 0 if tensor.is_inference() else tensor._version
