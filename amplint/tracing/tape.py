"""What one step has called, outside of all modules, kept so that the step can be run again.

Kept are calls of modules and of torch's functions as far as they lead to gradients, and backward passes: the inputs, the
regions and the random state of each. What one call has made and another is given is kept by number, and not held in memory.
"""

from __future__ import annotations

import random
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import unseen

_TOO_MANY = 2_000
"""Calls of one step; a program that makes more has no modules."""
_TOO_LONG = 64
"""Calls of modules without a step: they keep their inputs, and perhaps nothing will come of them."""


class Made(NamedTuple):
    """Stands for a tensor: the number of the call that has made it, and its position in what that call gave."""

    call: int
    position: int


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


@dataclass(frozen=True)
class TapedCall:
    """One call; `versions` are those of the tensors that it was given, in which a later change of one shows."""

    target: Callable[..., Any]
    args: Any
    place: SourceLine | None
    regions: tuple[RegionState, ...]
    random: RandomState | None
    versions: tuple[tuple[torch.Tensor, int], ...]


class Tape(TorchFunctionMode):  # type: ignore[misc]
    """Keeps the calls of the step that is running.

    Args:
        is_inside: says whether a module is running.
    """

    def __init__(self, is_inside: Callable[[], bool]) -> None:
        super().__init__()
        self.calls: list[TapedCall] = []
        self.is_on = True
        self._is_inside = is_inside
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], Made]] = {}
        self._roots = 0

    def install(self, patches: Patches) -> None:
        """Begin; `patches` takes it back. What is not of a module is kept inside `with`."""
        patches.attribute(torch.nn.Module, "__call__", self._module_call(torch.nn.Module.__call__))
        patches.attribute(torch.autograd.Function, "apply", classmethod(self._function_call(torch.autograd.Function)))
        patches.function((torch.autograd,), "backward", self._backward, "tape")

    def clear(self) -> None:
        """A step is over."""
        self.calls, self._made, self._roots = [], {}, 0

    # -- calls -----------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make a call of torch's."""
        return self._note(func, args, kwargs or {}) if torch.is_grad_enabled() else func(*args, **(kwargs or {}))

    def _note(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not self._is_watching():
            return func(*args, **kwargs)
        given = self._given(args, kwargs)
        result = func(*args, **kwargs)
        made = result if isinstance(result, (tuple, list)) else (result,)
        if any(map(_was_computed, made)) or (func is torch.Tensor.__setitem__ and any(map(_was_computed, args))):
            self._keep(func, given, None, result)
        return result

    def _module_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: torch.nn.Module, /, *args: Any, **kwargs: Any) -> Any:
            if not self._is_watching():
                return original(module, *args, **kwargs)
            self._roots += 1
            if self._roots > _TOO_LONG:
                self.clear()
            given, state = self._given(args, kwargs), RandomState.now()
            result = original(module, *args, **kwargs)
            self._keep(module, given, state, result)
            return result

        return call

    def _function_call(self, base: type) -> Callable[..., Any]:
        """`apply` of the classes of a program's own functions, which torch shows to nobody."""
        apply = vars(base)["apply"]

        def call(cls: type, *args: Any, **kwargs: Any) -> Any:
            return self._note(apply.__get__(None, cls), args, kwargs)

        return call

    def _backward(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self.is_on:
            self._keep(original, self._given(args, kwargs), None, None)
        return original(*args, **kwargs)

    def _is_watching(self) -> bool:
        """Whether a call is one that the program makes outside of modules, and that may lead to gradients."""
        return self.is_on and torch.is_grad_enabled() and not self._is_inside() and not torch.compiler.is_compiling()

    def _given(self, args: Any, kwargs: Any) -> tuple[Any, tuple[tuple[torch.Tensor, int], ...]]:
        """Arguments as they are kept, with the versions of the tensors among them."""
        versions = []

        def kept(tensor: torch.Tensor) -> Any:
            reference, made = self._made.get(id(tensor), (None, None))
            if reference is not None and reference() is tensor:
                return made
            if not (tensor.is_inference() or (tensor.is_leaf and tensor.requires_grad)):
                versions.append((tensor.detach(), tensor._version))
            # What another step has made is a value like others: its graph is not held.
            return tensor if tensor.is_leaf else tensor.detach().requires_grad_(tensor.requires_grad)

        with unseen():  # tensors of a class of its own may refuse: a lazy module's have no shape yet
            return tree_map_only(torch.Tensor, kept, (tuple(args), dict(kwargs))), tuple(versions)

    def _keep(self, target: Callable[..., Any], given: Any, state: RandomState | None, result: Any) -> None:
        if len(self.calls) >= _TOO_MANY:
            return
        args, versions = given
        number = len(self.calls)
        self.calls.append(TapedCall(target, args, caller(), RegionState.around(), state, versions))
        for position, one in enumerate(tree_leaves(result)):
            if isinstance(one, torch.Tensor):
                self._made[id(one)] = weakref.ref(one), Made(number, position)


def _was_computed(value: Any) -> bool:
    """Whether gradients lead back from a value; weights, which a program fills in place, are where they end."""
    return isinstance(value, torch.Tensor) and value.grad_fn is not None
