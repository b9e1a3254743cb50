"""The matrix products of the linear layers that a fix resizes, timed on a GPU: with the sizes as they stand, and with its.

A layer makes three products: of its input and its weight, forward; of the gradient of its output and the weight, and of that
gradient and its input, backward. They are made as autograd makes them, in the precision of the file's autocast region, on
matrices that are there already: nothing else of a training step is in the time. A size that the file does not spell out, and
the number of rows, are assumed: multiples of 64, so that they are in nobody's way.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst
import torch

from amplint.model.observables import PRODUCT_TIME
from amplint.model.torch import names as torch_names
from amplint.rule import File
from amplint.runtime.criterion import Observation, Question, judge
from amplint.runtime.devices import CUDA
from amplint.runtime.measures.timing import ROUNDS, Times, Work, gpu_clock, in_turns, spread
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, TEMPLATE, Outcome

ROWS = 8192
"""Rows of the inputs: 8 sequences of 1024 tokens. With few rows a GPU is idle for most of the time that a product takes."""
ASSUMED = 1024
"""Stands for a size that the file does not spell out."""

_Kind = tuple[str, tuple[int, str], tuple[int, str]]
_LINEAR: _Kind = ("torch.nn.Linear", (0, "in_features"), (1, "out_features"))
_EMBEDDING: _Kind = ("torch.nn.Embedding", (1, "embedding_dim"), (0, "num_embeddings"))
"""What multiplies, and the places of its two sizes; an embedding does where the model makes logits of its weight."""
_TENSOR_CORES = {torch.float16: (7, 0), torch.bfloat16: (8, 0)}
"""The compute capability from which a GPU multiplies matrices of this precision on Tensor Cores."""


@dataclass(frozen=True)
class LinearSizes:
    """The sizes of a linear layer: of its input, and of its output."""

    fan_in: int
    fan_out: int

    def __str__(self) -> str:
        return f"{self.fan_in}x{self.fan_out}"


def time_products(before: File, after: File, device: str, seed: int, least: float) -> Outcome:
    """Time the products of the layers that differ between two files.

    Args:
        before: the file as it stands.
        after: the file with the fix.
        device: one of `amplint.runtime.devices`; only on a GPU there is something to see.
        seed: decides the values in the matrices.
        least: the least saving that counts, as a fraction of the time.
    """
    if device != CUDA:
        return Outcome(NOT_OBSERVABLE, "the time that Tensor Cores take is measured on a GPU", PRODUCT_TIME)
    standing, resized = resized_layers(before, after)
    if not standing:
        return Outcome(
            NOT_REPLAYABLE,
            "the fix resizes no linear layers, or they are not found again: nothing else is timed",
            PRODUCT_TIME,
        )
    dtype = first_region_dtype(before)
    if torch.cuda.get_device_capability() < _TENSOR_CORES[dtype]:
        return Outcome(NOT_OBSERVABLE, f"this GPU has no Tensor Cores for {dtype_name(dtype)}", PRODUCT_TIME)
    clocks = [gpu_clock(products(layers, dtype, "cuda", seed)) for layers in (standing, resized)]
    given: dict[str, float | str] = {
        "dtype": dtype_name(dtype),
        "layers": f"{', '.join(map(str, standing))} resized to {', '.join(map(str, resized))}",
        "rounds": ROUNDS,
    }
    return judge_times(in_turns(clocks[0], clocks[1]), given, least)


def judge_times(times: Times, given: dict[str, float | str], least: float) -> Outcome:
    """What times come to: see `Times.saved`.

    Args:
        times: those of the products before the fix and after it.
        given: what else the evidence is to say.
        least: the share of time that must be saved for a fix to be confirmed.
    """
    saved = times.saved(least)
    before, after = statistics.median(times.before), statistics.median(times.after)
    saving, doubt = statistics.median(times.savings), spread(times.savings)
    numbers = f"median {before:.2f} -> {after:.2f} us, saved {saving:.1%} with a spread of {doubt:.1%}"
    why = "the difference is too small to tell" if saved is None else "the products take longer with the fix"
    shown = Outcome(
        NOT_REPLAYABLE,
        "",
        PRODUCT_TIME,
        {"median": before, "spread": spread(times.before)},
        {"median": after, "spread": spread(times.after)},
        given,
        {"before": times.before, "after": times.after},
        basis=TEMPLATE,
        assumed=(f"{ROWS} rows", f"{ASSUMED} for a size that is not written down"),
    )
    outcome = judge([Observation(Question.GONE, "the time of the products", not saved, saved is not False)], shown)
    return outcome if outcome.verdict == CONFIRMED else replace(outcome, reason=f"{why}: {numbers}")


# -- what is multiplied ------------------------------------------------------------------------------------------------


def resized_layers(before: File, after: File) -> tuple[list[LinearSizes], list[LinearSizes]]:
    """The layers whose sizes differ between two files, in both; none where the files hold different layers.

    They are the linear ones, or where none of these differs, the embeddings.
    """
    return _resized(_LINEAR, before, after) or _resized(_EMBEDDING, before, after) or ([], [])


def _resized(kind: _Kind, before: File, after: File) -> tuple[list[LinearSizes], list[LinearSizes]] | None:
    standing, resized = _sizes(before, kind), _sizes(after, kind)
    changed = [(old, new) for old, new in zip(standing, resized) if old != new]
    if len(standing) != len(resized) or not changed:
        return None
    return [_layer(*old) for old, _ in changed], [_layer(*new) for _, new in changed]


def _sizes(file: File, kind: _Kind) -> list[tuple[int | None, int | None]]:
    name, fan_in, fan_out = kind
    return [
        (_size(file, call, *fan_in), _size(file, call, *fan_out))
        for call in file.tree.find(cst.Call)
        if file.names.all_in(call.func, {name})
    ]


def _size(file: File, call: cst.Call, position: int, name: str) -> int | None:
    if any(arg.star for arg in call.args):
        return None
    for index, arg in enumerate(call.args):
        if arg.keyword.value == name if arg.keyword is not None else index == position:
            literal = file.integer(arg.value)
            return literal.evaluated_value if literal is not None else None
    return None


def _layer(fan_in: int | None, fan_out: int | None) -> LinearSizes:
    return LinearSizes(ASSUMED if fan_in is None else fan_in, ASSUMED if fan_out is None else fan_out)


def first_region_dtype(file: File) -> torch.dtype:
    """The precision of the first autocast region in a file that has half; CUDA's default where there is none."""
    for call in file.tree.find(cst.Call):
        region = file.contexts.of(call) if file.names.any_in(call.func, torch_names.AUTOCAST) else None
        if region is not None and region.enabled != "no" and region.dtype in ("float16", "bfloat16"):
            return torch.bfloat16 if region.dtype == "bfloat16" else torch.float16
    return torch.float16


# -- multiplying -------------------------------------------------------------------------------------------------------


def products(layers: Sequence[LinearSizes], dtype: torch.dtype, device: str, seed: int) -> Work:
    """The three products of each layer, into matrices that are made here.

    Args:
        layers: the sizes of the layers.
        dtype: that of the matrices.
        device: a device of torch.
        seed: decides the values in the matrices.
    """
    made = [Operands(layer, dtype, device, seed + index, ROWS) for index, layer in enumerate(layers)]

    def work() -> None:
        for operands in made:
            operands.multiply()

    return work


class Operands:
    """The matrices of one layer, and their products.

    `inputs` and `weight` are those of the forward pass, `upstream` is the gradient of its result `outputs`; `to_inputs` and
    `to_weight` are the gradients that the backward pass makes of it.
    """

    def __init__(self, layer: LinearSizes, dtype: torch.dtype, device: str, seed: int, rows: int) -> None:
        generator = torch.Generator(device=device).manual_seed(seed)

        def matrix(height: int, width: int) -> torch.Tensor:
            return torch.randn(height, width, generator=generator, device=device).to(dtype)

        self.inputs = matrix(rows, layer.fan_in)
        self.weight = matrix(layer.fan_out, layer.fan_in)
        self.upstream = matrix(rows, layer.fan_out)
        self.outputs = torch.empty_like(self.upstream)
        self.to_inputs = torch.empty_like(self.inputs)
        self.to_weight = torch.empty_like(self.weight)

    def multiply(self) -> None:
        """The forward product, and both of the backward pass."""
        torch.mm(self.inputs, self.weight.t(), out=self.outputs)
        torch.mm(self.upstream, self.weight, out=self.to_inputs)
        torch.mm(self.upstream.t(), self.inputs, out=self.to_weight)
