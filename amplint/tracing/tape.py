"""What one step has called, outside of all modules, kept so that the step can be run again.

Kept are calls of modules and of torch's functions as far as they lead to gradients, and backward passes: the inputs, the
regions and the random state of each. Calls without gradients (a teacher's, or what is computed of detached values) are kept as
long as there is what they have made, and by the calls that were given it. What one call has made and another is given is kept
as the call that has made it, and not held in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from amplint.runtime.recording.call_sites import caller
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import unseen
from amplint.tracing.makers import Makers
from amplint.tracing.taped_call import Made, ModuleState, RegionState, TapedCall, version_of, writes

_TOO_MANY = 2_000
"""Calls of one step; a program that makes more has no modules."""
_TOO_MANY_ASIDE = 20_000
"""Calls from which on none without gradients is kept: each may hold on to all before it."""
_TOO_LONG = 64
"""Calls of modules without a step: they keep their inputs, and perhaps nothing will come of them."""
_RANDOM = frozenset({"gumbel_softmax", "multi_head_attention_forward"})
"""Functions that draw random numbers, beside those that torch marks."""
_GRAD = torch.Tensor.grad.__get__


class _Given(NamedTuple):
    """What a call is given, as it is kept: `has_tensors` says whether there are tensors among it."""

    args: Any
    versions: tuple[tuple[torch.Tensor, int], ...]
    has_tensors: bool


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
        self._makers = Makers()
        self._roots = self._count = 0

    def install(self, patches: Patches) -> None:
        """Begin; `patches` takes it back. What is not of a module is kept inside `with`."""
        patches.attribute(torch.nn.Module, "__call__", self._module_call(torch.nn.Module.__call__))
        patches.attribute(torch.autograd.Function, "apply", classmethod(self._function_call(torch.autograd.Function)))
        patches.function((torch.autograd,), "backward", self._backward, "tape")

    def clear(self) -> None:
        """A step is over."""
        self.calls, self._roots, self._count = [], 0, 0
        self._makers.clear()

    # -- calls -----------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make a call of torch's; without gradients only what is computed of values that are known is of interest."""
        kwargs = kwargs or {}
        if torch.is_grad_enabled() or self._makers.knows(args) or (kwargs and self._makers.knows(kwargs.values())):
            return self._note(func, args, kwargs)
        return func(*args, **kwargs)

    def _note(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not self._is_watching():
            return func(*args, **kwargs)
        given = self._given(func, args, kwargs)
        result = func(*args, **kwargs)
        made = result if isinstance(result, (tuple, list)) else (result,)
        if any(map(_was_computed, made)) or (func is torch.Tensor.__setitem__ and any(map(_was_computed, args))):
            self._keep(func, given, None, result)
        elif given.has_tensors and any(map(_is_floating, made)) and _gives_the_same(func) and kwargs.get("out") is None:
            self._keep_aside(func, given, None, result)
        return result

    def _module_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: torch.nn.Module, /, *args: Any, **kwargs: Any) -> Any:
            if not self._is_watching():
                return original(module, *args, **kwargs)
            keep = self._keep if torch.is_grad_enabled() else self._keep_aside
            self._roots += torch.is_grad_enabled()
            if self._roots > _TOO_LONG:
                self.clear()
            given, state = self._given(module, args, kwargs), ModuleState.of(module)
            result = original(module, *args, **kwargs)
            keep(module, given, state, result)
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
            self._keep(original, self._given(original, args, kwargs), None, None)
        return original(*args, **kwargs)

    def _is_watching(self) -> bool:
        """Whether a call is one that the program makes outside of modules."""
        return self.is_on and not self._is_inside() and not torch.compiler.is_compiling()

    def _given(self, target: Callable[..., Any], args: Any, kwargs: Any) -> _Given:
        """Arguments as they are kept, with the versions of the tensors among them."""
        versions = []
        has_tensors, is_written = False, writes(target)

        def kept(tensor: torch.Tensor) -> Any:
            nonlocal has_tensors
            has_tensors = True
            made = self._makers.of(tensor)
            if made is not None and made.call.leads_to_gradients:
                return made
            # What another step has made is a value like others: its graph is not held.
            value = tensor if tensor.is_leaf else tensor.detach().requires_grad_(tensor.requires_grad)
            if made is not None and not is_written:
                return Made(made.call, made.position, (value, version_of(value)))
            if not (tensor.is_inference() or (tensor.is_leaf and tensor.requires_grad)):
                versions.append((tensor.detach(), tensor._version))
            return value

        with unseen():  # tensors of a class of its own may refuse: a lazy module's have no shape yet
            return _Given(tree_map_only(torch.Tensor, kept, (tuple(args), dict(kwargs))), tuple(versions), has_tensors)

    def _keep(self, target: Callable[..., Any], given: _Given, state: ModuleState | None, result: Any) -> None:
        if len(self.calls) < _TOO_MANY:
            self.calls.append(self._made(target, given, state, result, leads_to_gradients=True))

    def _keep_aside(self, target: Callable[..., Any], given: _Given, state: ModuleState | None, result: Any) -> None:
        """Keep a call without gradients, for as long as there is what it has made."""
        if self._makers.has_room() and self._count < _TOO_MANY_ASIDE:
            args = tree_map_only(Made, Made.without_value, given.args, is_leaf=lambda one: isinstance(one, Made))
            self._made(target, given._replace(args=args), state, result, leads_to_gradients=False)

    def _made(
        self,
        target: Callable[..., Any],
        given: _Given,
        state: ModuleState | None,
        result: Any,
        leads_to_gradients: bool,
    ) -> TapedCall:
        self._count += 1
        call = TapedCall(
            self._count, target, given.args, caller(), RegionState.around(), state, given.versions,
            leads_to_gradients, torch.is_grad_enabled(),
        )  # fmt: skip
        with unseen():
            self._makers.note(call, result)
        return call


def _was_computed(value: Any) -> bool:
    """Whether gradients lead back from a value; weights, which a program fills in place, are where they end."""
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _gives_the_same(function: Callable[..., Any]) -> bool:
    """Whether a function gives the same if it is called again: it writes to nothing, and draws no random numbers."""
    return not writes(function) and function != _GRAD and not _is_random(getattr(function, "__name__", ""))


@cache
def _is_random(name: str) -> bool:
    packet = getattr(torch.ops.aten, name, None) if name and not name.startswith("__") else None
    if packet is None:
        return name in _RANDOM or "dropout" in name
    return any(torch.Tag.nondeterministic_seeded in getattr(packet, one).tags for one in packet.overloads())
