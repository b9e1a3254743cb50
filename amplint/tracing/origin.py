"""Where the first value that is not finite came from, as far as the edges of modules tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch

from amplint.runtime.recording.tensor_facts import gradients
from amplint.tracing.explanations import OVERFLOW
from amplint.tracing.module_path import way_of
from amplint.tracing.module_ranges import RangeSeen
from amplint.tracing.operations import is_finite, range_of
from amplint.tracing.trace_record import FirstNonFinite

_OF_ANOTHER = (
    "what this process has computed is finite: it came with the gradients of another rank, whose report names it"
)
_LARGEST = {"float16": 65504.0}


def first_among(seen: Sequence[RangeSeen]) -> FirstNonFinite | None:
    """The first module whose result, or the gradient of it, is not finite.

    Args:
        seen: the tensors at the edges of modules in one step, in the order in which they were computed.
    """
    for number, one in enumerate(seen):
        if not one.range.finite and not one.given and not one.backward:
            given = [each for each in seen[:number] if each.module == one.module and each.given]
            return _found(one, given, seen[:number])
    for number, one in enumerate(seen):
        if not one.range.finite and one.backward:
            return _found(one, [each for each in seen[:number] if each.backward][-1:], seen[:number])
    return None


def of_another_rank(parameters: Iterable[torch.Tensor], names: Mapping[int, str], place: str) -> FirstNonFinite | None:
    """A gradient that is not finite, though this process, one of several, has seen nothing that is not.

    Args:
        parameters: those of an optimizer.
        names: their names, by id.
        place: the line of its step, as `file:line`.
    """
    for each in parameters:
        for grad in gradients([each]):
            if not is_finite(grad):
                result = range_of(names.get(id(each), "a parameter"), grad)
                return FirstNonFinite(0, True, "", "", place, "", (), result, _OF_ANOTHER)
    return None


def is_by_scale(found: FirstNonFinite) -> bool:
    """Whether gradients of a skipped step overflowed as scaled ones do now and then, and with a smaller scale will not."""
    if not found.backward or math.isnan(found.result.largest):
        return False
    return not found.operation or found.why.startswith(OVERFLOW)


def _found(one: RangeSeen, given: Sequence[RangeSeen], before: Sequence[RangeSeen]) -> FirstNonFinite:
    operands = tuple(each.range for each in given)
    return FirstNonFinite(
        0, one.backward, one.module, one.kind, str(one.place or "?"), "", operands, one.range, _why(one, given),
        before=way_of(before),
    )  # fmt: skip


def _why(one: RangeSeen, given: Sequence[RangeSeen]) -> str:
    if one.backward:
        if not given:
            return "the loss, its gradient, or what follows this module is not finite: `--ops` tells which operation made it so"
        last = given[-1]
        return f"the gradient was finite behind it (largest {last.range.largest:.4g}, at `{last.module}`)"
    if any(not each.range.finite for each in given):
        return "what the module was given is not finite already: it is the input, or `--ops` tells what made it so"
    limit = _LARGEST.get(one.range.dtype)
    largest = max((each.range.largest for each in given), default=0.0)
    if limit is not None and one.range.largest == float("inf"):
        return f"{one.range.dtype} ends at {limit:.6g}, and the module was given values up to {largest:.4g}"
    return f"the module was given values up to {largest:.4g}; `--ops` tells which of its operations it was"
