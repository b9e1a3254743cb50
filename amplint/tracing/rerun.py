"""A step, run again from its tape: so the costly look is at one step alone.

The program goes on as if it had not been: parameters and buffers are copies, gradients go to the copies, random state and the
attributes of modules are put back, and what the step prints is not printed again.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.runtime.recording.tensor_facts import GRAD
from amplint.tracing.other_processes import CannotRunAgain, apart_from_others, refuse_shared
from amplint.tracing.script import in_one_line
from amplint.tracing.taped_call import Made, RandomState, RegionState, TapedCall, in_order, version_of

_CHANGED = "its inputs have been changed in place"


class Rerun:
    """Runs calls again.

    Attributes:
        begin: the line of the first call.
        losses: what the calls have propagated.

    Args:
        calls: what the step has called.

    Raises:
        CannotRunAgain: what the calls were given has changed since, or other processes take part in them.
    """

    def __init__(self, calls: Sequence[TapedCall]) -> None:
        if not calls:
            raise CannotRunAgain("it has called no module")
        if not all(each.is_unchanged for each in calls):
            raise CannotRunAgain(_CHANGED)
        self._calls, self.begin = in_order(calls), calls[0].place
        self.losses: list[torch.Tensor] = []
        self._modules = list(
            dict.fromkeys(
                one for each in self._calls if isinstance(each.target, torch.nn.Module) for one in each.target.modules()
            )
        )
        refuse_shared(self._modules)
        self._from = caller()
        self._place: SourceLine | None = None
        self._copies: dict[int, torch.Tensor] = {}
        self._results: dict[int, list[Any]] = {}

    def locate(self) -> SourceLine | None:
        """The line of the program that is running: of the step that is run again, not the one that has asked for it."""
        place = caller()
        return self._place if place == self._from else place

    def parameters(self) -> list[torch.Tensor]:
        """The parameters of all modules that were called, in their order."""
        owned = (each for one in self._modules for each in one._parameters.values() if each is not None)
        return list({id(each): each for each in owned}.values())

    def gradients(self) -> list[torch.Tensor]:
        """What the backward passes have left on the copies of parameters."""
        return [grad for copy in self._copies.values() if (grad := GRAD.__get__(copy)) is not None]

    def run(self, watches: Sequence[AbstractContextManager[Any]]) -> None:
        """Run the calls, one after the other.

        Args:
            watches: what to run them inside of.

        Raises:
            CannotRunAgain: one of them has raised.
        """
        with self._unnoticed(), ExitStack() as stack:
            for watch in watches:
                stack.enter_context(watch)
            for call in self._calls:
                self._place = call.place
                try:
                    self._call(call)
                except CannotRunAgain:
                    if call.leads_to_gradients:
                        raise
                except Exception as error:
                    if call.leads_to_gradients:
                        raise CannotRunAgain(in_one_line(error).partition(". ")[0].rstrip(".")) from error

    def _call(self, call: TapedCall) -> None:
        """Make a call again; one without gradients whose inputs have changed is left out: its results are at hand."""
        if not call.is_unchanged:
            return

        def given(value: Any) -> Any:
            if isinstance(value, Made):
                if value.call.number in self._results:
                    return self._results[value.call.number][value.position]
                value = _at_hand(value)
            return self._copy(value) if value.requires_grad or call.is_in_place or id(value) in self._copies else value

        args, kwargs = tree_map_only((torch.Tensor, Made), given, call.args, is_leaf=lambda one: isinstance(one, Made))
        if call.name == "backward":
            self.losses += [one for one in tree_leaves(args[:1]) if isinstance(one, torch.Tensor)]
        with ExitStack() as regions:
            regions.enter_context(torch.set_grad_enabled(call.has_gradients))
            for region in call.regions:
                regions.enter_context(_entered(region))
            if call.state is not None:
                assert isinstance(call.target, torch.nn.Module)
                call.state.restore(call.target)
            result = tree_leaves(call.target(*args, **kwargs))
        self._results[call.number] = result if call.leads_to_gradients else _unshared(result, (args, kwargs))

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in self._copies:
            copied = tensor.detach().clone().requires_grad_(tensor.requires_grad)
            self._copies[id(tensor)] = copied
        return self._copies[id(tensor)]

    # -- without a trace -------------------------------------------------------------------------------------------

    @contextmanager
    def _unnoticed(self) -> Iterator[None]:
        state, attributes = RandomState.now(), [(one, dict(one.__dict__)) for one in self._modules]
        own = self.parameters()
        gradients = [(each, GRAD.__get__(each)) for each in own]
        for each, _ in gradients:
            GRAD.__set__(each, None)  # what reaches a parameter in spite of its copy
        try:
            with torch.enable_grad(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                for module, known in attributes:
                    self._swap(module, known)
                with apart_from_others(own):
                    yield
        finally:
            for module, known in attributes:
                module.__dict__.clear()
                module.__dict__.update(known)
            for each, grad in gradients:
                GRAD.__set__(each, grad)
            state.restore()

    def _swap(self, module: torch.nn.Module, known: dict[str, Any]) -> None:
        """Give a module copies of what it owns, wherever it keeps them."""
        for name, value in known.items():
            if name in ("_parameters", "_buffers"):
                module.__dict__[name] = {key: one if one is None else self._copy(one) for key, one in value.items()}
            elif isinstance(value, list) and any(isinstance(one, torch.nn.Parameter) for one in value):
                module.__dict__[name] = [self._copy(one) if isinstance(one, torch.Tensor) else one for one in value]


def _at_hand(made: Made) -> torch.Tensor:
    """What a call has made, where it was not made again."""
    if made.value is None or version_of(made.value[0]) != made.value[1]:
        raise CannotRunAgain(_CHANGED)
    return made.value[0]


def _unshared(result: list[Any], given: Any) -> list[Any]:
    """Results of a call, apart from the program's own tensors: what comes after may write to them."""
    own = {one.untyped_storage()._cdata for one in tree_leaves(given) if _has_storage(one)}
    return [one.clone() if _has_storage(one) and one.untyped_storage()._cdata in own else one for one in result]


def _has_storage(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def _entered(region: RegionState) -> torch.autocast:
    return torch.autocast(region.device, dtype=region.dtype, enabled=region.enabled)
