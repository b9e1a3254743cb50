"""Backward passes, and gradients read, changed and cleared by the program."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import torch
import torch.nn.utils.clip_grad

from amplint.model.events import Assign, Backward, GradAccess, InnerGrad, Report, ZeroGrad
from amplint.model.protocol.contents import SURELY, Value
from amplint.runtime.recording.call_sites import in_torch
from amplint.runtime.recording.event_log import Make, MeasuredFacts, Recorded
from amplint.runtime.recording.object_names import parameters_of
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import (
    GRAD,
    LossOrigin,
    dtype_name,
    gradient_of,
    gradients,
    mark_of,
    origin,
    scalar_value,
    size,
)
from amplint.runtime.recording.watch_inner_gradients import Divisions
from amplint.runtime.recording.watcher import Arguments, Called, Named, Watch, given_argument, several


class GradientWatch:
    """Watches gradients come and go."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._divisions: Divisions | None = None

    def install(self, patches: Patches) -> None:
        """Surround what torch offers; `patches` takes it back."""
        self._divisions = Divisions(self._watch, patches)
        patches.function((torch.autograd,), "backward", self._backward, "backward")
        patches.function((torch.autograd,), "grad", self._grad, "backward")
        patches.methods(torch.optim.Optimizer, "zero_grad", self._zero_grad)
        patches.methods(torch.nn.Module, "zero_grad", self._module_zero_grad)
        patches.method(torch.Tensor, "item", self._item)
        patches.attribute(torch.Tensor, "grad", self._property())

    # -- backward --------------------------------------------------------------------------------------------------

    def _backward(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, outputs = self._watch, several(given_argument(args, kwargs, 0, "tensors"))
        found = self._origin(outputs, given_argument(args, kwargs, 1, "grad_tensors"))
        inputs = given_argument(args, kwargs, 5, "inputs")
        leaves = found.parameters if inputs is None else several(inputs)
        reference = self._reference(outputs)
        recorded = watch.file(lambda site: Backward(site, reference))
        if recorded is None:
            return original(*args, **kwargs)
        self._describe(recorded, outputs, found)
        reached = watch.kept_once(leaves)
        # It takes effect before the pass is over: hooks may step optimizers in the middle of it.
        watch.journal.conclude(recorded, MeasuredFacts(Value(found.scaler, SURELY if found.half else 0), reached))
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            recorded.values["raised"] = type(error).__name__
            left = GradAccess(recorded.event.site, parameters_of(watch.names.owners(leaves)), writes=True)
            watch.journal.conclude(Recorded(left, recorded.place, recorded.thread), MeasuredFacts(reached=reached))
            raise
        if watch.journal.keeps:
            recorded.values.update(size(gradients(leaves)))
        return result

    def _grad(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, outputs = self._watch, several(given_argument(args, kwargs, 0, "outputs"))
        found = self._origin(outputs, given_argument(args, kwargs, 2, "grad_outputs"))
        source, target = self._reference(outputs), watch.names.fresh("gradients")
        recorded = watch.file(lambda site: Assign(site, target, args=(source,), computes=True))
        if recorded is None:
            return original(*args, **kwargs)
        self._describe(recorded, outputs, found)
        inner = given_argument(args, kwargs, 4, "create_graph", False)
        part = watch.file(partial(InnerGrad, outputs=source)) if inner else None
        result = watch.run(recorded, original, args, kwargs)
        grads = [grad for grad in several(result) if grad is not None]
        recorded.values.update(size(grads))
        watch.journal.conclude(recorded)
        if part is not None and self._divisions is not None:
            watch.journal.conclude(part, MeasuredFacts(Value(found.scaler, SURELY if found.half else 0)))
            self._divisions.await_on(grads, part)
        return result

    def _origin(self, outputs: list[torch.Tensor], weights: Any) -> LossOrigin:
        given = [None] * len(outputs) if weights is None else several(weights)
        return origin(outputs, given, self._watch.journal, tuple(self._watch.scales.values()))

    def _reference(self, outputs: list[torch.Tensor]) -> str:
        made = mark_of(outputs[0].grad_fn, self._watch.journal) if len(outputs) == 1 else None
        return made.reference if made is not None else self._watch.names.fresh("loss")

    @staticmethod
    def _describe(recorded: Recorded, outputs: list[torch.Tensor], found: LossOrigin) -> None:
        recorded.values.update(scaler=found.scaler, half=found.half)
        if len(outputs) == 1:
            recorded.values.update(loss=scalar_value(outputs[0]), dtype=dtype_name(outputs[0].dtype))

    def _item(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        """A number is read out of a tensor: of a scaled loss, if its graph says so."""
        made = mark_of(args[0].grad_fn, self._watch.journal)
        recorded = self._watch.file(partial(Report, value=made.reference)) if made is not None else None
        if made is not None and recorded is not None:
            self._watch.journal.conclude(recorded, MeasuredFacts(Value(made.scaler)))
        return original(*args, **kwargs)

    # -- clearing, reading, assigning ------------------------------------------------------------------------------

    def _zero_grad(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        name = self._watch.names.optimizer(args[0])
        to_none = bool(given_argument(args, kwargs, 1, "set_to_none", True))
        return self._cleared([partial(ZeroGrad, optimizer=name, to_none=to_none)], original, args, kwargs)

    def _module_zero_grad(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        names = self._watch.names
        model = names.model(args[0])
        to_none = bool(given_argument(args, kwargs, 1, "set_to_none", True))
        if not names.optimizers():
            return self._cleared([partial(ZeroGrad, owner=model, to_none=to_none)], original, args, kwargs)
        covered = names.covered(args[0].parameters())
        events: list[Make] = [partial(ZeroGrad, optimizer=name, owner=model, to_none=to_none) for name in covered]
        return self._cleared(events, original, args, kwargs)

    def _cleared(self, events: list[Make], original: Called, args: Arguments, kwargs: Named) -> Any:
        filed = [recorded for make in events if (recorded := self._watch.file(make)) is not None]
        result = original(*args, **kwargs)
        for recorded in filed:
            self._watch.journal.conclude(recorded)
        return result

    def _property(self) -> property:
        watch = self._watch

        def get(tensor: torch.Tensor) -> torch.Tensor | None:
            grad = gradient_of(tensor)
            if grad is not None and not in_torch(sys._getframe(1)):
                watch.touch(tensor, grad)
            return grad

        def assign(tensor: torch.Tensor, grad: torch.Tensor | None) -> None:
            GRAD.__set__(tensor, grad)
            if not in_torch(sys._getframe(1)):
                if grad is None:
                    watch.clear(tensor)
                else:
                    watch.touch(tensor, grad, wrote=True)

        return property(get, assign, GRAD.__delete__, GRAD.__doc__)
