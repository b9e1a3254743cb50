"""What copies hold: of a scaler that another process gets, and of weights that were saved in half precision."""

from __future__ import annotations

import io
import pickle
import re

import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.half_checkpoints import HalfCheckpoints
from amplint.facts.spawned_processes import Processes
from amplint.model import observables
from amplint.model.events import ObjectFacts
from amplint.rule import File
from amplint.runtime.experiments.loss_scale import STEPS, TrainingRun, too_steep
from amplint.runtime.experiments.rule_recheck import is_mended
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.trainer import flat

_HALF = re.compile(r"\b(half|b?float16)\b")


def handed_over(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Train on until the scale has come down, with the scaler that a process gets and with one that it makes.

    Raises:
        NotReplayable: the scaler is not found again.
    """
    mended = is_mended(before, after, diagnostic)
    each = next(
        (each for each in before.fact(Processes).handed_over if before.range(each.given) == diagnostic.range), None
    )
    facts = before.roles.made_by(each.made) if each is not None else None
    if facts is None:
        raise NotReplayable("the scaler is not found again")
    scales = [_kept(facts, copied, device, seed) for copied in (True, not mended, False)]
    return Measurement((Figure(observables.KEPT, *scales),), {"steps of the worker": STEPS})


def _kept(facts: ObjectFacts, copied: bool, device: str, seed: int) -> float:
    """The scale that is left to save after the training, relative to the one trained with; a worker that makes it has it."""
    run = TrainingRun(facts, "float16", too_steep(facts), device, seed)
    kept = run.scaler
    if copied:
        run.scaler = pickle.loads(pickle.dumps(kept))  # as a process that is started gets its arguments
    for _ in range(STEPS):
        run.skips()
    return float(kept.get_scale() / run.scaler.get_scale())


def saved_in_half(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Save weights and load them, cast as the code casts them and in full.

    Raises:
        NotReplayable: the cast is not found again.
    """
    mended = is_mended(before, after, diagnostic) and _halves(after) < _halves(before)
    each = next(
        (each for each in before.fact(HalfCheckpoints).found if before.range(each.place) == diagnostic.range), None
    )
    if each is None:
        raise NotReplayable("the cast is not found again")
    dtype = torch.bfloat16 if "bfloat16" in before.tree.text(each.cast) else torch.float16
    changed = [_changed(cast, seed) for cast in (dtype, torch.float32 if mended else dtype, torch.float32)]
    return Measurement((Figure(observables.ROUNDED, *changed),), {"dtype": str(dtype).removeprefix("torch.")})


def _halves(file: File) -> int:
    """How often a file speaks of half precision."""
    return len(_HALF.findall(file.source.text))


def _changed(dtype: torch.dtype, seed: int) -> float:
    torch.manual_seed(seed)
    net = torch.nn.Linear(64, 64)
    before = flat(net.parameters())
    file = io.BytesIO()
    torch.save({name: value.to(dtype) for name, value in net.state_dict().items()}, file)
    file.seek(0)
    net.load_state_dict(torch.load(file))
    return float((flat(net.parameters()) != before).float().mean())
