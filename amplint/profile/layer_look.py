"""One step of a mode with the time of each operation, seen as `amplint trace` sees it."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from amplint.profile.modes import FLOAT16
from amplint.profile.profile_record import LayerLook
from amplint.profile.steering import Steering
from amplint.profile.turn import Turn
from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.runtime.recording.patches import Patches
from amplint.tracing.script import NoProgram, on_device
from amplint.tracing.session import TraceOptions, run_traced
from amplint.tracing.trace_record import TraceRecord

_STEPS = 8
"""Steps in which one may be taken by a scaler whose scale has yet to settle."""


class MadePlaces:
    """Knows on which lines of the program modules were made, by their paths."""

    def __init__(self) -> None:
        self.by_path: dict[str, str] = {}
        self.sized: list[str] = []
        self._lines: weakref.WeakKeyDictionary[torch.nn.Module, SourceLine] = weakref.WeakKeyDictionary()
        self._named: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()

    def install(self, patches: Patches) -> None:
        """Begin; `patches` takes it back."""
        patches.attribute(torch.nn.Module, "__init__", self._noting(torch.nn.Module.__init__))
        patches.on_undo(register_module_forward_pre_hook(self._called).remove)

    def _noting(self, original: Callable[..., None]) -> Callable[..., None]:
        def made(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            place = caller()
            if place is not None:
                self._lines.setdefault(module, place)

        return made

    def _called(self, root: torch.nn.Module, given: Any) -> None:
        if root in self._named or torch.compiler.is_compiling():
            return
        name = type(root).__name__
        for path, module in root.named_modules():
            whole = f"{name}.{path}" if path else name
            if module not in self._named and module in self._lines:
                self.by_path[whole] = str(self._lines[module])
                self.sized += [whole] if any(True for _ in module.parameters(recurse=False)) else []
            self._named.add(module)


def look_at_layers(turn: Turn) -> LayerLook:
    """Run a program until one of its steps was looked at."""
    places, patches = MadePlaces(), Patches()
    options = TraceOptions(turn.device, steps=1 if turn.mode != FLOAT16 else _STEPS)
    with on_device(turn.device):  # first, for it asks torch's own regions
        try:
            Steering(turn.mode, turn.device, turn.round, turn.wakes, lambda: None).install(patches)
            places.install(patches)
            record, _ = run_traced(turn.script, options, lambda hazards: [])
        except NoProgram as error:
            return LayerLook(turn.mode, refusal=str(error))
        finally:
            patches.undo()
    return _told(turn.mode, record, places)


def _told(mode: str, record: TraceRecord, places: MadePlaces) -> LayerLook:
    dtypes: Counter[str] = Counter()
    for each in record.dtypes:
        dtypes.update(dict(each.calls))
    profile = record.profile
    if profile is None:
        why = record.not_again or record.error or "no step of an optimizer was taken"
        return LayerLook(mode, dict(dtypes), made=places.by_path, refusal=why)
    seconds: defaultdict[str, float] = defaultdict(float)
    kinds = {}
    for one in profile.operations:
        seconds[one.module] += one.seconds
        kinds[one.module] = one.kind
    casts = sum(one.seconds for one in profile.casts)
    for cast in profile.casts:
        seconds[cast.module] += cast.seconds
    reasons = {one.module: one.why for one in profile.fallbacks}
    share = casts / (sum(seconds.values()) or 1.0)
    number = sum(one.calls for one in profile.casts)
    operations = sum(one.calls for one in profile.operations)
    return LayerLook(
        mode,
        dict(dtypes),
        dict(seconds),
        kinds,
        share,
        number,
        operations,
        reasons,
        places.by_path,
        tuple(places.sized),
    )
