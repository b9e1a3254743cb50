"""Autocast regions entered and left, and state that is saved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

from amplint.model.events import AutocastEnter, AutocastExit, Checkpoint, Region
from amplint.runtime.recording.patches import Around, Patches
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.runtime.recording.watcher import Arguments, Called, Named, Watch


class _Open(threading.local):
    """The regions of this thread that were entered in view."""

    def __init__(self) -> None:
        self.regions: list[Any] = []


class RegionWatch:
    """Watches autocast regions."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._open = _Open()

    def install(self, patches: Patches) -> None:
        """Surround what torch offers; `patches` takes it back."""
        # The decorator form enters its region from torch's own code.
        patches.methods(torch.autocast, "__enter__", self._enter, also_torch=True)
        patches.methods(torch.autocast, "__exit__", self._exit, also_torch=True)

    def _enter(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch = self._watch
        result = original(*args, **kwargs)
        recorded = watch.file(lambda site: AutocastEnter(site, _region(args[0])))
        if recorded is not None:
            self._open.regions.append(args[0])
            watch.journal.conclude(recorded)
        return result

    def _exit(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        watch, regions = self._watch, self._open.regions
        if any(region is args[0] for region in regions):
            last = max(number for number, region in enumerate(regions) if region is args[0])
            del regions[last]
            recorded = watch.file(AutocastExit)
            if recorded is not None:
                watch.journal.conclude(recorded)
        return original(*args, **kwargs)


class CheckpointWatch:
    """Watches what is saved."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def install(self, patches: Patches) -> None:
        """Surround what torch offers; `patches` takes it back."""
        names = self._watch.names
        patches.methods(torch.amp.GradScaler, "state_dict", self._asked(names.scaler))
        patches.methods(torch.optim.Optimizer, "state_dict", self._asked(names.optimizer))
        patches.methods(LRScheduler, "state_dict", self._asked(names.scheduler))
        patches.methods(torch.nn.Module, "state_dict", self._asked(names.model))
        patches.function((torch, torch.serialization), "save", self._save, "save")

    def _asked(self, name_of: Callable[[Any], str]) -> Around:
        def state_dict(original: Called, args: Arguments, kwargs: Named) -> Any:
            return self._kept((name_of(args[0]),), original, args, kwargs)

        return state_dict

    def _save(self, original: Called, args: Arguments, kwargs: Named) -> Any:
        return self._kept((), original, args, kwargs)

    def _kept(self, refs: tuple[str, ...], original: Called, args: Arguments, kwargs: Named) -> Any:
        recorded = self._watch.file(lambda site: Checkpoint(site, refs))
        if recorded is None:
            return original(*args, **kwargs)
        result = self._watch.run(recorded, original, args, kwargs)
        self._watch.journal.conclude(recorded)
        return result


def _region(entered: Any) -> Region:
    dtype = dtype_name(entered.fast_dtype)
    return Region(str(entered.device), dtype, "yes" if entered._enabled else "no", bool(entered._cache_enabled))
