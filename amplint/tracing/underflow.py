"""Gradients that half precision has made zero, though exact arithmetic on the same operands does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from amplint.tracing.explanations import exact_results
from amplint.tracing.module_ranges import RangeSeen
from amplint.tracing.trace_record import ENOUGH, LostGradients

_SMALLEST_NORMAL = 2.0**-14


def may_be_lost(seen: RangeSeen) -> bool:
    """Whether all of a gradient lies where float16 has fewer and fewer digits, and then none."""
    return seen.backward and seen.range.dtype == "float16" and seen.range.largest < _SMALLEST_NORMAL


class UnderflowTally:
    """Counts lost gradients by module, over all operations of backward passes that give float16."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def add(
        self, where: tuple[str, str], call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], result: Any
    ) -> None:
        """Count what one operation has lost.

        Args:
            where: the module's path and the program's line.
            call: the operation.
            args: what it was given by position.
            kwargs: what it was given by name.
            result: what it gave.
        """
        if not isinstance(result, torch.Tensor) or result.dtype != torch.float16:
            return
        exact = exact_results(call, args, kwargs)
        if len(exact) != 1 or exact[0].shape != result.shape:
            return
        there = exact[0] != 0
        lost, of = self._counts.get(where, (0, 0))
        self._counts[where] = lost + int((there & (result == 0)).sum()), of + int(there.sum())

    def told(self) -> list[LostGradients]:
        """The modules that lose more than a few, the worst first."""
        shares = [LostGradients(*where, lost / of) for where, (lost, of) in self._counts.items() if of]
        return sorted((one for one in shares if one.share > ENOUGH), key=lambda one: -one.share)
