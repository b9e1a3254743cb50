"""What becomes of a run that is resumed from a checkpoint: an experiment with real scalers, states and files."""

from __future__ import annotations

import io
from typing import Any

import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.resume_checkpoints import Checkpoints
from amplint.model import observables
from amplint.model.events import ObjectFacts
from amplint.roles.step_pairs import StepPair
from amplint.rule import File
from amplint.runtime.experiments.carried_states import keys, stepped_by
from amplint.runtime.experiments.loss_scale import STEEP, STEPS, TrainingRun, too_steep
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable

_ELSEWHERE = "a load of the state where that of the optimizer is loaded, which is not seen"


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Train until the scale has settled, save what the checkpoint holds, and resume from that.

    Raises:
        NotReplayable: the checkpoint is not found, or the fix leaves its load to be written.
    """
    pair = stepped_by(before, diagnostic)
    if pair is None:
        raise NotReplayable("the checkpoint is not found again")
    restores = _is_restored(before, after, diagnostic, pair)
    facts = before.roles.of(pair.scaler)
    runs = [_skips(facts, holds, device, seed) for holds in (False, restores, True)]
    series = dict(zip(("before", "after", "reference"), runs))
    return Measurement(
        (Figure(observables.RESUMED, *(int(sum(each)) for each in runs)),),
        {"steps": STEPS},
        series,
        assumed=(STEEP, _ELSEWHERE) if restores and not keys(after, pair)[1] else (STEEP,),
    )


def _is_restored(before: File, after: File, diagnostic: Diagnostic, pair: StepPair) -> bool:
    """Whether the state of a scaler comes back with the fix.

    Where the file loads no optimizer's state, the load lies elsewhere, and is taken to follow.
    """
    saved, loaded = keys(after, pair)
    if saved and loaded and not saved & loaded:
        return False  # under a name of its own, which nobody asks for
    old, new = before.fact(Checkpoints), after.fact(Checkpoints)
    if not any(before.range(each.place) == diagnostic.range for each in old.incomplete):
        return len(new.unrestored) < len(old.unrestored)
    if len(new.unrestored) > len(old.unrestored):
        raise NotReplayable("the fix saves the state, and the load is left to you")
    return len(new.incomplete) < len(old.incomplete)


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
