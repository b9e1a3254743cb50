"""Gradients that become part of a loss, computed on a small net as the code computes them: scaled or not, unscaled or not."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.lowering.graph_tools import events_in
from amplint.model.events import InnerGrad, Region, Scale
from amplint.model.literals import number
from amplint.model.observables import INNER_GRADIENTS
from amplint.rule import File
from amplint.runtime.devices import CUDA
from amplint.runtime.experiments.amp_objects import made_in
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training.amp_and_reference import autocast
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.training.toy_problem import Net
from amplint.syntax.nodes import within

_SMALL = 2.0**-22
"""A factor of the net's output, with which gradients come out too small for float16."""
_SCALE = 2.0**15
"""What a scale of 65536 has come to after the one overflow that it always begins with here: float16 cannot hold 65536."""
_LARGE = 64.0
"""Smaller factors are weights, not scales."""
_BATCH, _FEATURES = 64, 16


class _How(NamedTuple):
    """Whether the outputs are scaled, and the gradients divided by the scale."""

    scaled: bool
    divided: bool


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Compute inner gradients as the code does, with the fix, and in float32.

    Raises:
        NotReplayable: the call is not found again, or a region around it is switched off with the fix.
    """
    if _switched_off(after) > _switched_off(before):
        raise NotReplayable("with the fix, a region is switched off, and the inner gradient may be computed in float32")
    calls, again = _calls(before), _calls(after)
    place = next((at for at, (call, _) in enumerate(calls) if before.range(call.func) == diagnostic.range), None)
    if place is None or len(again) != len(calls):
        raise NotReplayable("the inner gradient is not found again")
    if _scaled_by_hand(before, calls[place][0]):
        raise NotReplayable("the outputs are multiplied by a number, which may keep their gradients from getting lost")
    runs = [_gradients(how, device, seed) for how in (calls[place][1], again[place][1])]
    right = _gradients(None, device, seed)
    lost = [float((each[right != 0] == 0).float().mean()) for each in (*runs, right)]
    figures = (
        Figure(INNER_GRADIENTS, *(float(each.norm()) for each in (*runs, right))),
        Figure("fraction of them lost to zero", *lost),
    )
    return Measurement(figures, assumed=(f"outputs of a net times {_SMALL:.3g}", f"a loss scale of {_SCALE:g}"))


def _scaled_by_hand(file: File, call: cst.Call) -> bool:
    """Whether what an inner gradient is taken of is multiplied by a large number."""
    products = (each for each in within(call.args[0]) if isinstance(each, cst.BinaryOperation)) if call.args else ()
    factors = (side for each in products if isinstance(each.operator, cst.Multiply) for side in (each.left, each.right))
    return any((number(file.tree.text(each)) or 0.0) >= _LARGE for each in factors)


def _switched_off(file: File) -> int:
    """How many regions of a file are off."""
    return sum(made.kind == "region" and made.by_name["enabled"] is False for made, _ in made_in(file))


def _calls(file: File) -> list[tuple[cst.Call, _How]]:
    """The inner gradients of a file, in its order, each with how it is computed."""
    places = file.program.places
    found: dict[cst.Call, _How] = {}
    for function in file.analysis.functions.values():
        events = list(events_in(function.body))
        scaled = {event.target for event in events if isinstance(event, Scale)}
        for event in events:
            if isinstance(event, InnerGrad) and isinstance(call := places[event.site], cst.Call):
                found[call] = _How(event.outputs in scaled, event.divided)
    return sorted(found.items(), key=lambda item: file.tree.span(item[0]))


def _gradients(how: _How | None, device: str, seed: int) -> torch.Tensor:
    """The gradients of the net's outputs for its inputs; in float32 if `how` is None."""
    kind = "cuda" if device == CUDA else "cpu"
    net = Net(seed).to(kind)
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(_BATCH, _FEATURES, generator=generator).to(kind).requires_grad_()
    with autocast(Region("cuda", "float16", "yes" if how is not None else "no"), device, True):
        outputs = net(inputs).sum() * _SMALL
    scaler = torch.amp.GradScaler(kind, init_scale=_SCALE)
    scaled, divided = how or _How(False, False)
    [gradient] = torch.autograd.grad(scaler.scale(outputs) if scaled else outputs, inputs, create_graph=True)
    return (gradient / scaler.get_scale() if divided else gradient).detach().float().cpu()
