"""Clips, and norms of gradients, which show how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import torch
import torch.nn.utils.clip_grad

from amplint.model.events import MEASURE, Clip, GradAccess
from amplint.runtime.recording.event_log import Make, MeasuredFacts
from amplint.runtime.recording.object_names import parameters_of
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.tensor_facts import gradients, scalar_value, size
from amplint.runtime.recording.watcher import Arguments, Called, Named, Watch, given_argument, several


class ClipWatch:
    """Watches what bounds gradients, and what measures them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._scale_asked = False

    def install(self, patches: Patches) -> None:
        """Surround what torch offers; `patches` takes it back."""
        clips = (torch.nn.utils.clip_grad, torch.nn.utils)
        patches.function(clips, "clip_grad_norm_", self._clip_norm, "clip")
        patches.function(clips, "clip_grad_value_", self._clip_value, "clip")
        patches.function(clips, "clip_grads_with_norm_", self._clip_with_norm, "clip")
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
            watch.journal.conclude(recorded, MeasuredFacts(reached=watch.kept_once(clipped)))
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
        for tensor in several(args[0]) if args else ():
            if isinstance(tensor, torch.Tensor):
                self._watch.measure_access(tensor)
        return original(*args, **kwargs)


def _take_parameters(args: Arguments, kwargs: Named) -> tuple[Arguments, Named, list[torch.Tensor]]:
    """The parameters of a call, and the call's arguments with a generator of them made anew."""
    given = given_argument(args, kwargs, 0, "parameters")
    taken = several(given)
    if isinstance(given, GeneratorType):
        given = _again(taken)
    return ((given, *args[1:]), kwargs, taken) if args else (args, {**kwargs, "parameters": given}, taken)


def _again(values: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    yield from values


def _is_multiple(limit: float, scale: float) -> bool:
    """Whether a threshold looks like a number that an author would write, times the scale."""
    ratio = limit / scale if scale else 0.0
    return scale != 1.0 and float(f"{ratio:.3g}") == ratio
