"""What the runtime witness says about a program: the recorder, which watches it run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from amplint.runtime.recording.recorder import Recorder

from .program import Program, Setting
from .static_witness import FILE, Spot


@dataclass(frozen=True)
class Run:
    """What the runtime witness saw under one setting: hazards, how often events happened on which line, and what ended it."""

    setting: Setting
    hazards: frozenset[Spot]
    lines: Counter[int]
    skipped: frozenset[int]
    """The lines of scaler steps that were skipped."""
    error: str


def batches() -> list[torch.Tensor]:
    """The data of a run: 13 batches, so that neither 2 nor 3 divides them.

    The first and the 6th overflow everywhere, with a NaN that outlives a clip by value; the 4th only the gradients of a float16
    region, the 9th those of a wider one, too, so that a test of the loss for finiteness does not keep every overflow from the
    scaler.
    """
    values = torch.Generator().manual_seed(0)
    plain = [torch.rand(4, 2, generator=values) for _ in range(13)]
    for position in (0, 5):
        plain[position] = plain[position] * float("inf")
        plain[position][0] = float("nan")
    plain[3] = plain[3] * 2e4
    plain[8] = plain[8] * 1e35
    return plain


def run(program: Program, setting: Setting) -> Run:
    """Run a program under the recorder."""
    torch.set_num_threads(1)  # tiny tensors: handing them to threads takes forty times longer than computing
    error = ""
    with program.loaded(FILE) as train, Recorder() as recording:
        torch.manual_seed(0)
        try:
            train(batches(), **dict(setting))
        except (RuntimeError, AssertionError, ValueError, AttributeError) as raised:
            error = f"{type(raised).__name__}: {raised}"
    torch.set_autocast_enabled("cpu", False)  # whatever the program has left behind
    hazards = frozenset((seen.kind, seen.place.line) for seen in recording.hazards)
    lines = Counter(event.place.line for event in recording.events)
    skipped = frozenset(event.place.line for event in recording.events if event.values.get("skipped"))
    return Run(setting, hazards, lines, skipped, error)


def runs(program: Program) -> tuple[Run, ...]:
    """Run a program under every setting of its flags."""
    return tuple(run(program, setting) for setting in program.settings())


def text_of(setting: Mapping[str, bool] | Setting) -> str:
    """A setting in words."""
    return ", ".join(f"{name}={value}" for name, value in dict(setting).items()) or "no flags"
