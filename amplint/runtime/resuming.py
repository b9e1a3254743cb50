"""What becomes of a run that is resumed from a checkpoint: an experiment with real scalers, states and files."""

from __future__ import annotations

import io
from typing import Any

import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observable
from amplint.model.events import ObjectFacts
from amplint.rule import File
from amplint.runtime.measurement import Figure, Measurement
from amplint.runtime.record import NotReplayable
from amplint.runtime.scaling import STEPS, TrainingRun, too_steep


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Train until the scale has settled, save what the checkpoint holds, and resume from that.

    Raises:
        NotReplayable: the checkpoint is not found.
    """
    lacking = before.checkpoints.incomplete
    index = next((at for at, each in enumerate(lacking) if before.range(each.place) == diagnostic.range), None)
    if index is None:
        raise NotReplayable("the checkpoint is not found again")
    holds_after = len(after.checkpoints.incomplete) < len(lacking)
    facts = before.analysis.program.roles.of(lacking[index].pair.scaler)
    runs = [_skips(facts, holds, device, seed) for holds in (False, holds_after, True)]
    series = dict(zip(("before", "after", "reference"), runs))
    return Measurement((Figure(observable.RESUMED, *(int(sum(each)) for each in runs)),), {"steps": STEPS}, series)


def _skips(facts: ObjectFacts, holds_scaler: bool, device: str, seed: int) -> tuple[float, ...]:
    """For each step after the resume whether it was skipped (1.0)."""
    first = TrainingRun(facts, "float16", too_steep(facts), device, seed)
    for _ in range(STEPS):
        first.backward()
        first.step()
    states: dict[str, Any] = {"optimizer": first.optimizer.state_dict()}
    if holds_scaler:
        states["scaler"] = first.scaler.state_dict()
    checkpoint = io.BytesIO()
    torch.save(states, checkpoint)
    checkpoint.seek(0)
    loaded = torch.load(checkpoint)
    second = TrainingRun(facts, "float16", too_steep(facts), device, seed)
    second.optimizer.load_state_dict(loaded["optimizer"])
    if "scaler" in loaded:
        second.scaler.load_state_dict(loaded["scaler"])
    return tuple(float(second.skips()) for _ in range(STEPS))
