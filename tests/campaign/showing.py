"""What a program shows when it is run as on a GPU: errors, warnings, dtypes of real tensors, files, moves of scalers."""

from __future__ import annotations

import io
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from amplint.runtime.recording.call_sites import caller
from amplint.runtime.recording.event_log import Recorded
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.recorder import Recorder

from .gpu import as_on_a_gpu
from .probing import Probe, Prober, Sweep
from .program import Program, Setting
from .static_witness import FILE
from .witnesses import batches


@dataclass(frozen=True)
class Pass:
    """A layer or model that was called: on which row, in which regions (the dtypes of the enabled ones), and what came out."""

    row: int
    module: torch.nn.Module
    regions: tuple[torch.dtype, ...]
    trains: bool
    dtype: torch.dtype | None


@dataclass
class Show:
    """What one run has shown.

    `error` is what ended it, raised on `row`. `warned` are the rows of deprecation warnings, `saved` the objects that were
    saved, `handed` what was handed to new processes. `never_entered` counts the contexts that were made and never entered,
    `entered_again` those that were entered while they were open, `misplaced` the uses of scalers whose device is no device.
    `broken` says that parameters that an optimizer has stepped were no numbers in the end.
    """

    setting: Setting
    error: str = ""
    row: int = 0
    events: tuple[Recorded, ...] = ()
    probes: dict[int, Probe] = field(default_factory=dict)
    passes: list[Pass] = field(default_factory=list)
    warned: set[int] = field(default_factory=set)
    saved: list[Any] = field(default_factory=list)
    handed: list[Any] = field(default_factory=list)
    never_entered: int = 0
    entered_again: int = 0
    misplaced: int = 0
    broken: bool = False


def show(program: Program, setting: Setting, rows: frozenset[int], sweep: Sweep | None) -> Show:
    """Run a program as on a GPU, under the recorder; `rows` are probed with the values of a sweep."""
    torch.set_num_threads(1)
    shown = Show(setting)
    torch.manual_seed(0)
    with as_on_a_gpu() as patches, warnings.catch_warnings(record=True) as told, Recorder() as recording:
        warnings.simplefilter("always")
        with (
            _watched(patches, shown),
            Prober(FILE, program.text, rows if sweep else frozenset(), sweep or Sweep(())) as prober,
        ):
            try:
                first, *others = batches()  # which no program that is not to overflow at once survives
                with program.loaded(FILE) as train:
                    train([*others, first], **dict(setting))
            except (RuntimeError, AssertionError, ValueError, TypeError, AttributeError) as raised:
                shown.error = f"{type(raised).__name__}: {raised}"
                frames = [frame for frame in traceback.extract_tb(raised.__traceback__) if frame.filename == FILE]
                shown.row = frames[-1].lineno or 0 if frames else 0
    shown.events, shown.probes = tuple(recording.events), prober.probes
    shown.warned = {each.lineno for each in told if each.filename == FILE and issubclass(each.category, FutureWarning)}
    return shown


@contextmanager
def _watched(patches: Patches, shown: Show) -> Iterator[None]:
    """Watch what the recorder has no event for."""
    open_: list[torch.autocast] = []
    made: dict[int, torch.autocast] = {}
    parameters: dict[int, torch.Tensor] = {}

    def construct(original: Any, args: Any, kwargs: Any) -> Any:
        made[id(args[0])] = args[0]
        return original(*args, **kwargs)

    def enter(original: Any, args: Any, kwargs: Any) -> Any:
        made.pop(id(args[0]), None)
        shown.entered_again += any(each is args[0] for each in open_)
        open_.append(args[0])
        return original(*args, **kwargs)

    def leave(original: Any, args: Any, kwargs: Any) -> Any:
        if open_:
            open_.pop()
        return original(*args, **kwargs)

    def save(original: Any, args: Any, kwargs: Any) -> Any:
        buffer = io.BytesIO()
        original(args[0], buffer)
        buffer.seek(0)
        shown.saved.append(torch.load(buffer, weights_only=False))

    def spawn(original: Any, args: Any, kwargs: Any) -> Any:
        shown.handed.extend(kwargs.get("args", args[1] if len(args) > 1 else ()))

    def scale(original: Any, args: Any, kwargs: Any) -> Any:
        shown.misplaced += not isinstance(args[0]._device, str)
        return original(*args, **kwargs)

    def passed(module: torch.nn.Module, given: Any, result: Any) -> None:
        place = caller()
        regions = tuple(each.fast_dtype for each in open_ if each._enabled)
        dtype = result.dtype if isinstance(result, torch.Tensor) else None
        row = place.line if place is not None else 0
        shown.passes.append(Pass(row, module, regions, torch.is_grad_enabled(), dtype))

    def stepped(optimizer: Any, *_: Any) -> None:
        parameters.update((id(each), each) for group in optimizer.param_groups for each in group["params"])

    patches.methods(torch.autocast, "__init__", construct)
    patches.methods(torch.autocast, "__enter__", enter, also_torch=True)
    patches.methods(torch.autocast, "__exit__", leave, also_torch=True)
    patches.methods(torch.amp.GradScaler, "scale", scale)
    patches.function((torch,), "save", save, "save")
    patches.function((torch.multiprocessing,), "spawn", spawn, "spawn")
    patches.on_undo(register_module_forward_hook(passed).remove)
    patches.on_undo(register_optimizer_step_post_hook(stepped).remove)
    yield
    shown.never_entered = len(made)
    shown.broken = any(not each.isfinite().all() for each in parameters.values())
