"""What code comes to on GPUs that have bfloat16, and on those that emulate it.

PyTorch is asked itself, with properties of a GPU of another compute capability in the place of its own: both what it answers and
the precision that a region gets from the answer are measured. The time that emulation takes is not.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TypeVar

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic, Edit
from amplint.model.events import Region
from amplint.rule import File
from amplint.runtime.experiments.matmul_dtype import product_dtype
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.recording.patches import Patches
from amplint.runtime.text_edits import edits_between
from amplint.runtime.training.run_record import NotReplayable
from amplint.syntax.comparisons import COMPARED

_EMULATES, _COMPUTES = (7, 5), (8, 0)
"""The compute capability of a T4, which emulates bfloat16, and that of an A100, which was the first to compute in it."""
_QUESTIONS = {
    "torch.cuda.is_available": lambda *_, **__: torch.cuda.is_available(),
    "torch.cuda.get_device_capability": lambda *_, **__: torch.cuda.get_device_capability(),
    "torch.cuda.is_bf16_supported": torch.cuda.is_bf16_supported,
}
_Answer = TypeVar("_Answer")


def take(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Ask what the code asks, and enter its region, on both kinds of GPU.

    Raises:
        NotReplayable: the place is not found again, or asks for something else.
    """
    regions = _regions(before)
    index = next((at for at, call in enumerate(regions) if before.range(call.func) == diagnostic.range), None)
    if index is None:
        return Measurement(tuple(_answers(before, after, diagnostic)))
    counterparts = _regions(after)
    if len(counterparts) != len(regions):
        raise NotReplayable("the region is not found again")
    return Measurement(
        tuple(
            _precision((before, regions[index]), (after, counterparts[index]), capability, device)
            for capability in (_EMULATES, _COMPUTES)
        )
    )


def _on(capability: tuple[int, int], ask: Callable[[], _Answer]) -> _Answer:
    """Ask on a GPU of some compute capability; every GPU can hold a bfloat16 number."""
    properties = SimpleNamespace(major=capability[0], minor=capability[1])
    patches = Patches()
    try:
        patches.attribute(torch.cuda, "is_available", lambda: True)
        patches.attribute(torch.cuda, "current_device", lambda: 0)
        patches.attribute(torch.cuda, "get_device_properties", lambda device=None: properties)
        patches.attribute(torch.cuda, "_check_bf16_tensor_supported", lambda device: True)
        return ask()
    finally:
        patches.undo()


def _at(what: str, capability: tuple[int, int]) -> str:
    return f"{what} at capability {capability[0]}.{capability[1]}"


# -- the question ------------------------------------------------------------------------------------------------------


def _answers(before: File, after: File, diagnostic: Diagnostic) -> list[Figure]:
    call = next((call for call in before.tree.find(cst.Call) if before.range(call.func) == diagnostic.range), None)
    asked = _among_others(before, call) if call is not None else None
    instead = _counterpart(before, after, asked) if asked is not None else None
    if asked is None or instead is None:
        raise NotReplayable("the question is not found again")
    figures: list[Figure] = []
    for capability in (_EMULATES, _COMPUTES):
        found = [_on(capability, lambda: _value(before, asked)), _on(capability, lambda: _value(after, instead))]
        said = ["yes" if each else "no" for each in (*found, capability >= _COMPUTES)]
        figures.append(Figure(_at("answer", capability), *said))
    return figures


def _among_others(file: File, call: cst.Call) -> cst.CSTNode:
    """A question with those that are asked along with it, if they are about the hardware as well."""
    asked: cst.CSTNode = call
    while isinstance(around := file.tree.parent(asked), cst.BooleanOperation) and isinstance(around.operator, cst.And):
        asked = around
    try:
        _on(_COMPUTES, lambda: _value(file, asked))
    except NotReplayable:
        return call
    return asked


def _counterpart(before: File, after: File, asked: cst.CSTNode) -> cst.CSTNode | None:
    """What stands in the place of a question in the file with the fix."""
    start, end = before.tree.span(asked)
    edits = edits_between(before.source.text, after.source.text)
    first = start + sum(_growth(each) for each in edits if each.end <= start and each.start < start)
    last = end + sum(_growth(each) for each in edits if each.start <= end)
    inside = after.source.text[first:last]
    if inside.startswith("(") and inside.endswith(")"):
        first, last = first + 1, last - 1
    kinds = (cst.BooleanOperation, cst.Comparison, cst.UnaryOperation, cst.Call)
    spans = [(after.tree.span(node), node) for kind in kinds for node in after.tree.find(kind)]
    exact = next((node for span, node in spans if span == (first, last)), None)
    beginning = [
        (span[1], node) for span, node in spans if span[0] == first
    ]  # what else has changed may have moved its end
    return exact or max(beginning, key=lambda pair: pair[0], default=(0, None))[1]


def _growth(edit: Edit) -> int:
    return len(edit.replacement) - (edit.end - edit.start)


# -- the region --------------------------------------------------------------------------------------------------------


def _regions(file: File) -> list[cst.Call]:
    return [call for call in file.tree.find(cst.Call) if file.contexts.sources(call) == [call]]


_Place = tuple[File, cst.Call]


def _precision(mine: _Place, theirs: _Place, capability: tuple[int, int], device: str) -> Figure:
    """The precision of a matrix product in a region, as the code stands and with the fix."""
    for file, call in (mine, theirs):
        region = file.contexts.of(call)
        if region is not None and region.dtype in ("float16", "float32"):
            raise NotReplayable("the region is not in bfloat16")
    try:
        was_on = _is_on(*mine, capability)
    except NotReplayable:  # an option of the author's: the finding is about a run in which it is set
        was_on = True
    dtypes = [
        product_dtype(Region("cuda", "bfloat16", "yes" if on else "no"), device)
        for on in (was_on, _is_on(*theirs, capability), capability >= _COMPUTES)
    ]
    return Figure(_at("matrix product", capability), *dtypes)


def _is_on(file: File, call: cst.Call, capability: tuple[int, int]) -> bool:
    """Whether a region is enabled on a GPU.

    Raises:
        NotReplayable: that depends on more than the hardware.
    """
    given = next((arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "enabled"), None)
    return given is None or bool(_on(capability, lambda: _value(file, given)))


# -- what is asked -----------------------------------------------------------------------------------------------------


def _value(file: File, node: cst.CSTNode) -> object:
    """What an expression of questions for the hardware comes to, as PyTorch answers them."""
    match node:
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return _value(file, left) and _value(file, right)
        case cst.BooleanOperation(left=left, right=right):
            return _value(file, left) or _value(file, right)
        case cst.UnaryOperation(operator=cst.Not(), expression=expression):
            return not _value(file, expression)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(sign, right)]) if type(sign) in COMPARED:
            capability, least = _value(file, left), _value(file, right)
            if type(capability) is type(least):
                return COMPARED[type(sign)](capability, least)
        case cst.Tuple():
            return tuple(_value(file, each.value) for each in node.elements)
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(place))]):
            parts, at = _value(file, node.value), _value(file, place)
            if isinstance(parts, tuple) and isinstance(at, int):
                return parts[at]
        case cst.Integer():
            return node.evaluated_value
        case cst.Name(value="True" | "False"):
            return node.value == "True"
        case cst.Call():
            names = file.names.resolve(node.func)
            ask = _QUESTIONS.get(next(iter(names))) if len(names) == 1 else None
            if ask is not None:
                return ask(
                    *(_value(file, arg.value) for arg in node.args if arg.keyword is None),
                    **{arg.keyword.value: _value(file, arg.value) for arg in node.args if arg.keyword is not None},
                )
    raise NotReplayable("the code asks for more than the hardware")
