"""What a scaler says to the gradients of a model in half, and to those of the model that the fix leaves."""

from __future__ import annotations

import ast
import re

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.half_models import Halved, Halves
from amplint.model import observables
from amplint.rule import File
from amplint.runtime.changes import changes
from amplint.runtime.devices import CUDA
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.training import torch_objects
from amplint.runtime.training.run_record import NotReplayable

_PRECISIONS = {"bfloat16": re.compile(r"bfloat16|bf16"), "float64": re.compile(r"float64|\bdouble\b")}


def take(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Step an optimizer of the code's class through a scaler, with parameters in the precision that the code gives them.

    Raises:
        NotReplayable: the cast is not found again.
    """
    casts = list(before.fact(Halves).stepped())
    found = next((each for each in casts if before.range(each.name) == diagnostic.range), None)
    if found is None:
        raise NotReplayable("the cast is not found again")
    still = list(after.fact(Halves).stepped())
    is_taken = len(still) < len(casts)
    left = is_taken and any(_optimizer(after, each) == _optimizer(before, found) for each in still)
    gone = is_taken and not left
    named = _precision_instead(before, after) if gone else "float16"
    place = "cuda" if device == CUDA else "cpu"
    error = _raised(found, torch.float16, place, seed)
    fixed = _raised(found, torch.float32 if gone else torch.float16, place, seed)
    precision = Figure("precision of the parameters", "float16", named, "float32")
    others = (diagnostic.name,) if left else ()
    return Measurement((Figure(observables.REFUSED, error, fixed, NONE), precision), others=others)


def _optimizer(file: File, halved: Halved) -> tuple[str, str]:
    """Which optimizer gets the parameters of a cast model: the function that makes it, and how."""
    home = file.tree.function(halved.made)
    return home.name.value if isinstance(home, cst.FunctionDef) else "", file.tree.text(halved.made)


def _precision_instead(before: File, after: File) -> str:
    """The precision that a repair names where the code as it stands names half."""
    for change in changes(before.source.text, after.source.text):
        text = ast.unparse(change.after) if change.after is not None else ""
        for name, words in _PRECISIONS.items():
            if words.search(text):
                return name
    return "float32"


def _raised(found: Halved, dtype: torch.dtype, place: str, seed: int) -> str:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(8, 8, generator=generator).to(place, dtype).requires_grad_()
    optimizer, _ = torch_objects.optimizer(found.optimizer, [weight])
    scaler = torch.amp.GradScaler(place, init_scale=1024.0)
    try:
        scaler.scale((weight.float() ** 2).mean()).backward()
        if found.unscaled:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).partition('. ')[0].strip()}"
    return NONE
