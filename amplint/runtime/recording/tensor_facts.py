"""What can be read from tensors: how large gradients are, and how a loss came about.

A scaled loss is known by a mark on the node of the autograd graph that scaled it. The mark lives and dies with the graph,
so it outlasts the tensor object, and whatever is computed from the tensor can be followed back to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

Node = Any
"""A node of the autograd graph; torch names no class that all of them share."""

GRAD = torch._C.TensorBase.grad
"""`.grad` itself, below whatever stands on `torch.Tensor`."""

unseen = torch._C.DisableTorchFunction
"""A context manager: looks at tensors inside are shown to no function mode, which would take longer than the looks."""

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_MARK = "amplint"
_GIVEN = "_amplint_scaled"
_SCALES = "MulBackward0"
# Operations whose result is scaled exactly if their operand is.
_LINEAR = frozenset(
    f"{name}Backward{number}"
    for name in (
        "Add Alias Cat Clone Expand Index Mean Neg Permute Reshape ReshapeAlias Select Slice Split Squeeze Stack Sub Sum T "
        "ToCopy Transpose Unbind UnsafeView Unsqueeze View"
    ).split()
    for number in (0, 1, 2)
)
_WIDE = frozenset({torch.float32, torch.float64})
_NEAR = 1e-3
"""Relative distance below which a factor is taken for the scale, or for its inverse."""


@dataclass(frozen=True)
class Mark:
    """Set on a node by `scale`: in which recording, under which reference, by which scaler, with which factor."""

    recording: object
    reference: str
    scaler: str
    scale: float


@dataclass(frozen=True)
class LossOrigin:
    """How a loss came about.

    `scaler` scaled it: "" none, "?" cannot be told. A sum counts as scaled when one of its terms is. `half` says that some
    operation of its graph gave float16. `parameters` are the leaves that a backward pass reaches.
    """

    scaler: str
    half: bool
    parameters: list[torch.Tensor] = field(default_factory=list)


def gradient_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """What a tensor's `.grad` is; classes of a program's own are asked."""
    if type(tensor) not in _PLAIN:
        return GRAD.__get__(tensor)
    with unseen():
        return GRAD.__get__(tensor)


def gradients(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The gradients that parameters hold."""
    with unseen():
        return [grad for parameter in parameters if (grad := GRAD.__get__(parameter)) is not None]


def size(tensors: Sequence[torch.Tensor]) -> dict[str, object]:
    """The 2-norm of all elements together; how many are inf or NaN; the dtypes by name."""
    with unseen():
        dense = [tensor.detach().coalesce().values() if tensor.is_sparse else tensor.detach() for tensor in tensors]
        dtypes = {tensor.dtype for tensor in dense}
        norm, nonfinite = 0.0, 0
        if dense and dtypes <= _WIDE:
            norm = _total(torch._foreach_norm(dense))
        if dense and not (dtypes <= _WIDE and math.isfinite(norm)):  # too wide a range for float32: count, take care
            nonfinite = sum(int((~torch.isfinite(tensor)).sum()) for tensor in dense)
            wide = torch.float32 if dense[0].device.type == "mps" else torch.float64
            norm = _total([torch.linalg.vector_norm(tensor, dtype=wide) for tensor in dense])
    return {"norm": norm, "nonfinite": nonfinite, "dtypes": tuple(sorted(str(each)[6:] for each in dtypes))}


def _total(norms: Sequence[torch.Tensor]) -> float:
    device = norms[0].device
    return float(torch.linalg.vector_norm(torch.stack([norm.to(device) for norm in norms])).item())


def scalar_value(tensor: torch.Tensor) -> float | None:
    """The value of a tensor of one element; None for others."""
    return float(tensor.detach().item()) if tensor.numel() == 1 and not tensor.is_complex() else None


def dtype_name(dtype: torch.dtype) -> str:
    """A dtype without its module, such as `float16`."""
    return str(dtype).removeprefix("torch.")


def mark(tensor: torch.Tensor, made: Mark) -> None:
    """Note on its graph that a tensor was scaled; without a graph, on the tensor, which may be given to a backward pass.

    Args:
        tensor: the scaled one.
        made: by which scaler, and in which recording.
    """
    if tensor.grad_fn is not None:
        tensor.grad_fn.metadata[_MARK] = made
    else:
        setattr(tensor, _GIVEN, made)


def _mark_on(weight: torch.Tensor | None, recording: object) -> Mark | None:
    """The mark that this recording has set on a gradient that is given to a backward pass."""
    found = getattr(weight, _GIVEN, None)
    return found if isinstance(found, Mark) and found.recording is recording else None


def mark_of(node: Node, recording: object) -> Mark | None:
    """The mark that this recording has set on a node.

    Args:
        node: a node of the autograd graph.
        recording: this recording; other ones may run at once.
    """
    if node is None or node.name() != _SCALES:
        return None
    found = node.metadata.get(_MARK)
    return found if isinstance(found, Mark) and found.recording is recording else None


def origin(
    outputs: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor | None],
    recording: object,
    scales: Collection[float],
) -> LossOrigin:
    """Follow a graph from where a backward pass starts.

    Args:
        outputs: the tensors that it starts at.
        weights: the gradients that it starts with; None for one.
        recording: this recording; other ones may run at once.
        scales: the factors of the scalers in use: a loss multiplied by one of them by hand cannot be told.
    """
    graph = _Graph(recording, tuple(scale for scale in scales if scale != 1.0))
    carried: set[str] = set()
    for output, weight in zip(outputs, weights):
        if output.grad_fn is None:
            graph.parameters.append(output)
        else:
            graph.walk(output.grad_fn)
            given = _mark_on(weight, recording)
            found = graph.carried(output.grad_fn, 1.0 if weight is None or given is not None else scalar_value(weight))
            scaled_twice = given is not None and found != {""}
            carried |= {"?"} if scaled_twice else {given.scaler} if given is not None else found
    known = carried - {""}
    scaler = "?" if len(known) > 1 else next(iter(known), "")
    return LossOrigin(scaler, graph.half, graph.parameters)


class _Graph:
    """One walk over an autograd graph."""

    def __init__(self, recording: object, scales: tuple[float, ...]) -> None:
        self._recording = recording
        self._scales = scales
        self._seen: set[Node] = set()
        self._marked = False
        self.half = False
        self.parameters: list[torch.Tensor] = []

    def walk(self, start: Node) -> None:
        """Visit every node once."""
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node in self._seen:
                continue
            self._seen.add(node)
            inner = [below for below, _ in node.next_functions if below is not None]
            waiting += inner
            if not inner and (variable := getattr(node, "variable", None)) is not None:
                self.parameters.append(variable)
            self._marked = self._marked or mark_of(node, self._recording) is not None
            self.half = self.half or any(out.dtype == torch.float16 for out in getattr(node, "_input_metadata", ()))

    def carried(self, start: Node, weight: float | None) -> set[str]:
        """The scalers (and "" for none, "?" for doubt) whose scale the terms of a value still carry."""
        found: set[str] = set()
        waiting: list[tuple[Node, float | None]] = [(start, weight)]
        while waiting:
            node, factor = waiting.pop()
            made = mark_of(node, self._recording)
            if made is not None:
                found.add("?" if _undone(made.scale, factor) else made.scaler)
            elif (step := _linear(node, factor)) is not None:
                waiting += step
            elif self._marked and self._depends(node):
                found.add("?")
            else:
                near = factor is None or any(_near(factor, scale) for scale in self._scales)
                found.add("?" if self._scales and near else "")
        return found

    def _depends(self, start: Node) -> bool:
        seen: set[Node] = set()
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if mark_of(node, self._recording) is not None:
                return True
            waiting += [below for below, _ in node.next_functions]
        return False


def _linear(node: Node, factor: float | None) -> list[tuple[Node, float | None]] | None:
    """The operands of a linear operation with the factors they come with; None for any other operation."""
    name = node.name()
    operands = [below for below, _ in node.next_functions]
    if name in _LINEAR:
        return [(below, factor) for below in operands if below is not None]
    if name not in ("MulBackward0", "DivBackward0") or sum(below is not None for below in operands) != 1:
        return None
    first = operands[0] is not None
    if name == "DivBackward0" and not first:
        return None
    other = node._saved_other if first else node._saved_self
    by = scalar_value(other) if isinstance(other, torch.Tensor) else other
    if factor is not None and by is not None:
        factor = factor * by if name == "MulBackward0" else factor / by if by else None
    else:
        factor = None
    return [(operands[0] if first else operands[1], factor)]


def _undone(scale: float, factor: float | None) -> bool:
    return factor is not None and scale != 1.0 and _near(factor * scale, 1.0)


def _near(left: float, right: float) -> bool:
    return abs(left - right) <= _NEAR * abs(right)
