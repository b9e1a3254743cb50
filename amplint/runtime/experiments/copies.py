"""What copies hold: of a scaler that another process gets, and of weights that were saved in half precision."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.half_checkpoints import HalfCheckpoints
from amplint.facts.scalers import Scalers
from amplint.facts.spawned_processes import Processes
from amplint.model import observables
from amplint.model.events import ObjectFacts
from amplint.model.torch.precision import CASTS, DTYPES
from amplint.rule import File
from amplint.runtime.experiments.loss_scale import STEPS, TrainingRun, too_steep
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.trainer import flat


def handed_over(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Train on until the scale has come down, with the scaler that a process gets and with one that it makes.

    Raises:
        NotReplayable: the scaler is not found again.
    """
    each = next(
        (each for each in before.fact(Processes).handed_over if before.range(each.given) == diagnostic.range), None
    )
    facts = before.roles.made_by(each.made) if each is not None else None
    if each is None or facts is None:
        raise NotReplayable("the scaler is not found again")
    worker = _name(each.worker)
    still = [one for one in after.fact(Processes).handed_over if _name(one.worker) == worker]
    before_too = [one for one in before.fact(Processes).handed_over if _name(one.worker) == worker]
    is_copied = len(still) >= len(before_too)
    used = facts if is_copied else _made_in(after, worker)
    if used is None:
        raise NotReplayable("with the fix, no scaler is found in the process")
    scales = _kept(facts, True, device, seed), _kept(used, is_copied, device, seed), _kept(facts, False, device, seed)
    return Measurement((Figure(observables.KEPT, *scales),), {"steps of the worker": STEPS})


def _name(function: cst.FunctionDef | None) -> str:
    return function.name.value if function is not None else ""


def _made_in(file: File, function: str) -> ObjectFacts | None:
    """The scaler that a function makes; None where there is none."""
    made = ((file.tree.enclosing(call, cst.FunctionDef), facts) for call, facts in file.fact(Scalers).made)
    return next((facts for home, facts in made if isinstance(home, cst.FunctionDef) and _name(home) == function), None)


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
    each = next(
        (each for each in before.fact(HalfCheckpoints).found if before.range(each.place) == diagnostic.range), None
    )
    if each is None or not isinstance(each.cast.func, cst.Attribute):
        raise NotReplayable("the cast is not found again")
    weights, home = before.tree.text(each.cast.func.value), before.tree.enclosing(each.cast, cst.FunctionDef)
    name = _name(home) if isinstance(home, cst.FunctionDef) else ""
    casts = _casts(before, weights, name), _casts(after, weights, name)
    if each.kept is not None or not casts[0]:
        raise NotReplayable("the cast is in another file")
    if not casts[1] and len(after.fact(HalfCheckpoints).found) >= len(before.fact(HalfCheckpoints).found):
        raise NotReplayable("what is cast with the fix is not found again")
    changed = [_changed(each, seed) for each in (*casts, ())]
    return Measurement((Figure(observables.ROUNDED, *changed),), {"dtype": dtype_name(casts[0][-1])})


def _casts(file: File, weights: str, function: str) -> tuple[torch.dtype, ...]:
    """The casts that weights go through in a function, in their order.

    Args:
        file: the file.
        weights: what is cast, as it is written.
        function: the name of the function; empty for none.
    """
    found: list[tuple[int, torch.dtype]] = []
    for call in file.tree.find(cst.Call):
        home = file.tree.enclosing(call, cst.FunctionDef)
        dtype = _dtype(file, call)
        subject: cst.BaseExpression = call
        while isinstance(subject, cst.Call) and _dtype(file, subject) is not None:
            assert isinstance(subject.func, cst.Attribute), "a cast is a method"
            subject = subject.func.value
        is_there = (_name(home) if isinstance(home, cst.FunctionDef) else "") == function
        if dtype is not None and is_there and file.tree.text(subject) == weights:
            found.append((file.tree.span(call)[1], dtype))
    return tuple(dtype for _, dtype in sorted(found, key=lambda each: each[0]))


def _dtype(file: File, call: cst.Call) -> torch.dtype | None:
    """The dtype that a call of a method casts to; None where it is no cast."""
    if not isinstance(call.func, cst.Attribute):
        return None
    method = call.func.attr.value
    if method in CASTS:
        return getattr(torch, CASTS[method]) if not call.args else None
    names = [named for named in DTYPES if any(file.names.all_in(arg.value, {named}) for arg in call.args)]
    return getattr(torch, DTYPES[names[0]]) if names and method in ("to", "type") else None


def _changed(casts: Sequence[torch.dtype], seed: int) -> float:
    """The share of weights that are others once they were cast, saved and loaded."""
    torch.manual_seed(seed)
    net = torch.nn.Linear(64, 64)
    before = flat(net.parameters())
    weights, file = net.state_dict(), io.BytesIO()
    for dtype in casts:
        weights = {name: value.to(dtype) for name, value in weights.items()}
    torch.save(weights, file)
    file.seek(0)
    net.load_state_dict(torch.load(file))
    return float((flat(net.parameters()) != before).float().mean())
