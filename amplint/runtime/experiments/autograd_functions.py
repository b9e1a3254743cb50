"""A custom function like the author's, with his decorators: whether its backward pass works outside of the region."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.autograd_functions import CustomFunctions
from amplint.model import observables
from amplint.model.torch.names import CUSTOM_BWD, CUSTOM_FWD
from amplint.model.torch.precision import DTYPES
from amplint.rule import File
from amplint.runtime.devices import CPU, CUDA
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable

_Method = Callable[..., Any]
_Decorators = Mapping[str, tuple[Callable[[_Method], _Method], ...]]
"""What `forward` and `backward` are decorated with, the outermost first."""


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
    place = CUDA if device == CUDA else CPU
    runs = _raised(_decorators(before, found.node, place), place), _raised(_fixed(after, found.node, place), place)
    return Measurement((Figure(observables.BACKWARD_ERROR, *runs, NONE),))


def _fixed(after: File, known: cst.ClassDef, place: str) -> _Decorators:
    """What decorates the methods of a class with a fix; as good as both decorators is one that now casts by itself."""
    name = known.name.value
    found = next((each for each in after.tree.find(cst.ClassDef) if each.name.value == name), None)
    decorators = _decorators(after, found, place) if found is not None else {}
    is_unaware = any(each.node.name.value == name for each in after.fact(CustomFunctions).unaware())
    if is_unaware or any(decorators.values()):
        return decorators
    return {
        "forward": (partial(torch.amp.custom_fwd, device_type=place),),
        "backward": (partial(torch.amp.custom_bwd, device_type=place),),
    }


def _decorators(file: File, node: cst.ClassDef, place: str) -> _Decorators:
    """What the two passes of a class are decorated with, for the device of this replay where the author means a GPU."""
    methods = [each for each in node.body.body if isinstance(each, cst.FunctionDef)]
    return {
        each.name.value: tuple(made for one in each.decorators for made in _of_torch(file, one.decorator, place))
        for each in methods
    }


def _of_torch(file: File, decorator: cst.BaseExpression, place: str) -> Iterator[Callable[[_Method], _Method]]:
    """A decorator of torch, as the code sets it; nothing for others."""
    args = decorator.args if isinstance(decorator, cst.Call) else ()
    names = file.names.resolve(decorator.func if isinstance(decorator, cst.Call) else decorator)
    given = {arg.keyword.value: arg.value for arg in args if arg.keyword is not None}
    device = given.get("device_type")
    written = device.evaluated_value if isinstance(device, cst.SimpleString) else CUDA
    kind = place if written == CUDA else next(each for each in (CPU, CUDA) if each != place)
    if names & CUSTOM_BWD:
        yield partial(torch.amp.custom_bwd, device_type=kind)
    elif names & CUSTOM_FWD:
        casts = [
            DTYPES[name]
            for name in DTYPES
            if "cast_inputs" in given and name in file.names.resolve(given["cast_inputs"])
        ]
        yield partial(torch.amp.custom_fwd, device_type=kind, cast_inputs=getattr(torch, casts[0]) if casts else None)


def _raised(decorators: _Decorators, place: str) -> str:
    """What the backward pass raises with these decorators."""

    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad

    ways: dict[str, _Method] = {"forward": forward, "backward": backward}
    for name in ways:
        for decorate in reversed(decorators.get(name, ())):
            ways[name] = decorate(ways[name])
    product: Any = type("Product", (torch.autograd.Function,), {name: staticmethod(way) for name, way in ways.items()})
    x, w = (torch.ones(8, 8, device=place, requires_grad=True) for _ in range(2))
    try:
        with torch.autocast(place, dtype=torch.bfloat16):
            result = product.apply(x, w)
        result.float().sum().backward()
    except (RuntimeError, AttributeError) as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return NONE
