"""One call of a step, kept so that it can be made again."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from amplint.runtime.recording.call_sites import SourceLine


class RandomState(NamedTuple):
    """Where all generators stand."""

    cpu: torch.Tensor
    cuda: list[torch.Tensor]
    python: Any
    numpy: Any

    @classmethod
    def now(cls) -> RandomState:
        """The present one."""
        numpy = sys.modules.get("numpy")
        return cls(
            torch.get_rng_state(),
            torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
            random.getstate(),
            numpy.random.get_state() if numpy is not None else None,
        )

    def restore(self) -> None:
        """Make it the present one again."""
        torch.set_rng_state(self.cpu)
        if self.cuda:
            torch.cuda.set_rng_state_all(self.cuda)
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy"].random.set_state(self.numpy)


@dataclass(frozen=True)
class RegionState:
    """What autocast does on a device; `dtype` counts where it is on."""

    device: str
    enabled: bool
    dtype: torch.dtype

    @classmethod
    def around(cls) -> tuple[RegionState, ...]:
        """The present ones."""
        return tuple(cls(one, torch.is_autocast_enabled(one), torch.get_autocast_dtype(one)) for one in ("cuda", "cpu"))


class ModuleState(NamedTuple):
    """What a module computes with beside its weights: the random state, and of it and all inside it whether they train."""

    random: RandomState
    modes: tuple[bool, ...]

    @classmethod
    def of(cls, module: torch.nn.Module) -> ModuleState:
        """The present one."""
        return cls(RandomState.now(), tuple(each.training for each in module.modules()))

    def restore(self, module: torch.nn.Module) -> None:
        """Make it the present one again."""
        self.random.restore()
        for each, mode in zip(module.modules(), self.modes):
            if each.training != mode:
                each.training = mode


@dataclass(frozen=True, eq=False)
class TapedCall:
    """One call.

    Attributes:
        number: counts the calls of a step.
        target: what was called.
        args: what it was given, by position and by name; a `Made` stands for what another call has made.
        place: the program's line.
        regions: what autocast did.
        state: what a module computed with; None for functions.
        versions: the tensors among the arguments, with numbers in which a later change of one shows.
        leads_to_gradients: whether it was made with gradients, and some lead back from its result.
        has_gradients: whether gradients were on.
    """

    number: int
    target: Callable[..., Any]
    args: Any
    place: SourceLine | None
    regions: tuple[RegionState, ...]
    state: ModuleState | None
    versions: tuple[tuple[torch.Tensor, int], ...]
    leads_to_gradients: bool
    has_gradients: bool

    @property
    def is_unchanged(self) -> bool:
        """Whether what it was given is what it was."""
        return all(version_of(one) == version for one, version in self.versions)

    @property
    def name(self) -> str:
        """The name of a function; empty for a module."""
        return getattr(self.target, "__name__", "")

    @property
    def is_in_place(self) -> bool:
        """Whether it writes to what it is given."""
        return writes(self.target)

    def sources(self) -> Iterator[TapedCall]:
        """The calls that have made what it was given."""
        return (one.call for one in tree_leaves(self.args, is_leaf=_stands) if isinstance(one, Made))


@dataclass(frozen=True, eq=False)
class Made:
    """Stands for a tensor.

    Attributes:
        call: what has made it.
        position: where it stood in what that call gave.
        value: the tensor, and its version, where the call may as well not be made again; None where it must be.
    """

    call: TapedCall
    position: int
    value: tuple[torch.Tensor, int] | None = None

    def without_value(self) -> Made:
        """The same, to be made again."""
        return Made(self.call, self.position)


def in_order(calls: Iterable[TapedCall]) -> list[TapedCall]:
    """Calls, and those that have made what they were given, in the order in which they were made."""
    found: dict[int, TapedCall] = {}
    waiting = list(calls)
    while waiting:
        call = waiting.pop()
        if call.number not in found:
            found[call.number] = call
            waiting += call.sources()
    return [found[number] for number in sorted(found)]


def _stands(value: Any) -> bool:
    return isinstance(value, Made)


def version_of(tensor: torch.Tensor) -> int:
    """A number that changes whenever a tensor is written to."""
    return 0 if tensor.is_inference() else tensor._version


def writes(target: Callable[..., Any]) -> bool:
    """Whether a function writes to what it is given."""
    name = getattr(target, "__name__", "")
    if name.startswith("__"):
        return name.startswith(("__i", "__set")) and name not in ("__invert__", "__index__", "__int__")
    return name.endswith("_")
