"""A custom function like the author's, with his decorators: whether its backward pass works outside of the region."""

from __future__ import annotations

from typing import Any

import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.autograd_functions import CustomFunction, CustomFunctions
from amplint.model import observables
from amplint.rule import File
from amplint.runtime.devices import CUDA
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable


def take(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Multiply two float32 matrices in a custom function, in a bfloat16 region, and go back outside of it.

    Raises:
        NotReplayable: the class is not found again.
    """
    found = next(
        (each for each in before.fact(CustomFunctions).unaware() if before.range(each.node.name) == diagnostic.range),
        None,
    )
    if found is None:
        raise NotReplayable("the class is not found again")
    name = found.node.name.value
    fixed = next((each for each in after.fact(CustomFunctions).unaware() if each.node.name.value == name), None)
    place = "cuda" if device == CUDA else "cpu"
    after_fix = (True, True) if fixed is None else _decorated(fixed)
    return Measurement(
        (Figure(observables.BACKWARD_ERROR, _raised(*_decorated(found), place), _raised(*after_fix, place), NONE),)
    )


def _decorated(function: CustomFunction) -> tuple[bool, bool]:
    return function.has_fwd, function.has_bwd


def _raised(has_fwd: bool, has_bwd: bool, place: str) -> str:
    """What the backward pass raises with these decorators."""

    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad

    ways = {
        "forward": torch.amp.custom_fwd(forward, device_type=place) if has_fwd else forward,
        "backward": torch.amp.custom_bwd(backward, device_type=place) if has_bwd else backward,
    }
    product: Any = type("Product", (torch.autograd.Function,), {name: staticmethod(way) for name, way in ways.items()})
    x, w = (torch.ones(8, 8, device=place, requires_grad=True) for _ in range(2))
    try:
        with torch.autocast(place, dtype=torch.bfloat16):
            result = product.apply(x, w)
        result.float().sum().backward()
    except (RuntimeError, AttributeError) as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return NONE
