"""Backward passes, clipping, and gradients read, changed and cleared by the program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from types import GeneratorType
from typing import Any

import torch
import torch.nn.utils.clip_grad

from amplint.model.events import MEASURE, Assign, Backward, Clip, GradAccess, InnerGrad, Report, ZeroGrad
from amplint.model.protocol.contents import Value
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
from amplint.runtime.recording.watcher import Arguments, Called, Named, Watch, given_argument


class GradientWatch:
    """Watches gradients come and go."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._scale_asked = False
        self._reached: dict[frozenset[int], frozenset[int]] = {}
        self._divisions: Divisions | None = None

    def install(self, patches: Patches) -> None:
        """Surround what torch offers; `patches` takes it back."""
        self._divisions = Divisions(self._watch, patches)
        clips = (torch.nn.utils.clip_grad, torch.nn.utils)
        patches.function((torch.autograd,), "backward", self._backward, "backward")
        patches.function((torch.autograd,), "grad", self._grad, "backward")
        patches.function(clips, "clip_grad_norm_", self._clip_norm, "clip")
        patches.function(clips, "clip_grad_value_", self._clip_value, "clip")
        patches.function(clips, "clip_grads_with_norm_", self._clip_with_norm, "clip")
        patches.methods(torch.optim.Optimizer, "zero_grad", self._zero_grad)
        patches.methods(torch.nn.Module, "zero_grad", self._module_zero_grad)
        patches.methods(torch.amp.GradScaler, "get_scale", self._get_scale)
        for name in ("clamp_", "clip_"):
            patches.method(torch.Tensor, name, self._clamp)
        for modules, name in (
            ((torch,), "norm"),
            ((torch,), "_foreach_norm"),
            ((torch.linalg,), "norm"),
            ((torch.linalg,), "vector_norm"),
            ((torch.nn.utils.clip_grad, torch.nn.utils), "get_total_norm"),
        ):
            patches.function(modules, name, self._norm, "norm")
        patches.method(torch.Tensor, "norm", self._norm)
        patches.method(torch.Tensor, "item", self._item)
        patches.attribute(torch.Tensor, "grad", self._property())

    # -- backward --------------------------------------------------------------------------------------------------

    def _backward(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, outputs = self._watch, _several(given_argument(args, kwargs, 0, "tensors"))
        found = self._origin(outputs, given_argument(args, kwargs, 1, "grad_tensors"))
        inputs = given_argument(args, kwargs, 5, "inputs")
        leaves = found.parameters if inputs is None else _several(inputs)
        reference = self._reference(outputs)
        recorded = watch.file(lambda site: Backward(site, reference))
        if recorded is None:
            return original(*args, **kwargs)
        self._describe(recorded, outputs, found)
        reached = self._kept_once(leaves)
        # It takes effect before the pass is over: hooks may step optimizers in the middle of it.
        watch.journal.conclude(recorded, MeasuredFacts(Value(found.scaler, found.half), reached))
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
        watch, outputs = self._watch, _several(given_argument(args, kwargs, 0, "outputs"))
        found = self._origin(outputs, given_argument(args, kwargs, 2, "grad_outputs"))
        source, target = self._reference(outputs), watch.names.fresh("gradients")
        recorded = watch.file(lambda site: Assign(site, target, args=(source,), computes=True))
        if recorded is None:
            return original(*args, **kwargs)
        self._describe(recorded, outputs, found)
        inner = given_argument(args, kwargs, 4, "create_graph", False)
        part = watch.file(partial(InnerGrad, outputs=source)) if inner else None
        result = watch.run(recorded, original, args, kwargs)
        grads = [grad for grad in _several(result) if grad is not None]
        recorded.values.update(size(grads))
        watch.journal.conclude(recorded)
        if part is not None and self._divisions is not None:
            watch.journal.conclude(part, MeasuredFacts(Value(found.scaler, found.half)))
            self._divisions.await_on(grads, part)
        return result

    def _kept_once(self, parameters: Iterable[torch.Tensor]) -> frozenset[int]:
        """The ids of parameters; a set that comes up in every iteration is kept once."""
        ids = frozenset(map(id, parameters))
        return self._reached.setdefault(ids, ids)

    def _origin(self, outputs: list[torch.Tensor], weights: Any) -> LossOrigin:
        given = [None] * len(outputs) if weights is None else _several(weights)
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

    # -- clipping --------------------------------------------------------------------------------------------------

    def _get_scale(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        self._scale_asked = True
        return original(*args, **kwargs)

    def _clip_norm(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        tells = given_argument(args, kwargs, 2, "norm_type", 2.0) == 2.0
        raises = bool(given_argument(args, kwargs, 3, "error_if_nonfinite"))
        return self._clip(original, args, kwargs, "norm", given_argument(args, kwargs, 1, "max_norm"), tells, raises)

    def _clip_value(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        return self._clip(original, args, kwargs, "value", given_argument(args, kwargs, 1, "clip_value"))

    def _clip_with_norm(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        return self._clip(original, args, kwargs, "norm", given_argument(args, kwargs, 1, "max_norm"))

    def _clip(
        self, original: Called, args: Arguments, kwargs: Named, by: str, limit: Any,
        tells: bool = False, raises: bool = False,
    ) -> Any:  # fmt: skip
        """Watch a clip; `tells` says that it returns the 2-norm that it met, `raises` that this has to be finite."""
        watch = self._watch
        args, kwargs, clipped = _take_parameters(args, kwargs)
        owners = watch.names.owners(clipped)
        recorded = watch.file(self._clip_event(owners, by, float(limit), raises)) if limit is not None else None
        if recorded is None:
            return original(*args, **kwargs)
        before = None if tells else size(gradients(clipped))["norm"]
        result = watch.run(recorded, original, args, kwargs)
        before = scalar_value(result) if tells else before
        recorded.values.update(limit=float(limit), before=before)
        if watch.journal.keeps or not tells:  # else the limit tells what is left
            recorded.values.update(size(gradients(clipped)))
        if owners or not watch.names.optimizers():  # parameters of an optimizer not met yet: nothing is known of them
            watch.journal.conclude(recorded, MeasuredFacts(reached=self._kept_once(clipped)))
        return result

    def _clip_event(self, owners: tuple[str, ...], by: str, limit: float, raises: bool) -> Make:
        """A clip; a threshold of inf only measures, and one that is multiplied by the scale leaves what cannot be told."""
        references = parameters_of(owners)
        if limit == float("inf"):
            return lambda site: GradAccess(site, references, by=MEASURE)
        if self._scale_asked and any(_is_multiple(limit, scale) for scale in self._watch.scales.values()):
            return lambda site: GradAccess(site, references, writes=True)
        optimizer = owners[0] if len(owners) == 1 else ""
        return lambda site: Clip(site, references, optimizer, by, f"{limit:g}", raises)

    def _clamp(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch = self._watch
        owners = watch.claim_access(args[0])
        if owners is None:
            return original(*args, **kwargs)
        limit = given_argument(args, kwargs, 2, "max")
        optimizer = owners[0] if len(owners) == 1 else ""
        recorded = watch.file(lambda site: Clip(site, parameters_of(owners), optimizer, "hand", f"{limit}"))
        if recorded is None:
            return original(*args, **kwargs)
        result = watch.run(recorded, original, args, kwargs)
        recorded.values.update(limit=limit, **size([args[0]]))
        watch.journal.conclude(recorded)
        return result

    def _norm(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        """A norm of gradients shows how large they are; what is done with it afterwards is not seen."""
        for tensor in _several(args[0]) if args else ():
            if isinstance(tensor, torch.Tensor):
                self._watch.measure_access(tensor)
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


def _several(values: Any) -> list[Any]:
    if isinstance(values, dict):
        return list(values.values())
    return list(values) if isinstance(values, Iterable) and not isinstance(values, torch.Tensor) else [values]


def _take_parameters(args: Arguments, kwargs: Named) -> tuple[Arguments, Named, list[torch.Tensor]]:
    """The parameters of a call, and the call's arguments with a generator of them made anew."""
    given = given_argument(args, kwargs, 0, "parameters")
    taken = _several(given)
    if isinstance(given, GeneratorType):
        given = _again(taken)
    return ((given, *args[1:]), kwargs, taken) if args else (args, {**kwargs, "parameters": given}, taken)


def _again(values: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    yield from values


def _is_multiple(limit: float, scale: float) -> bool:
    """Whether a threshold looks like a number that an author would write, times the scale."""
    ratio = limit / scale if scale else 0.0
    return scale != 1.0 and float(f"{ratio:.3g}") == ratio
