"""The dtype flow: which values autocast computes in half, what bounds them, and what a loss is differentiated through.

One abstract evaluation of a file, from its module body and from each of its functions. Functions and classes of the file
are followed into at every call, with the arguments and the regions of that call, so that a criterion is judged where it
runs. Values of unknown functions and parameters are unknown, and everything built on the unknown stays so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.dtypes.constants import ConstantEffect, ConstantUse, constants
from amplint.dtypes.hazards import Danger, DtypeHazard, calls_followed, loss_hazards
from amplint.dtypes.statements import Statements
from amplint.dtypes.values import Operation, Tensor
from amplint.file import File
from amplint.model.events import Region
from amplint.model.torch.precision import FLOAT16

__all__ = ["ConstantUse", "Danger", "Dtypes", "DtypeHazard", "Operation", "Tensor", "ConstantEffect"]

_BUDGET = 40_000
"""Expressions evaluated per file; past it the rest of the file is not judged."""


class Dtypes:
    """The dtype flow of one file; evaluated when first asked."""

    def __init__(self, file: File) -> None:
        self._tree, self._contexts = file.tree, file.contexts
        self._idle = Statements(file.tree, file.names, file.contexts, file.classes, _BUDGET)

    @cached_property
    def _flow(self) -> Statements:
        self._idle.whole_file()
        return self._idle

    @property
    def operations(self) -> list[Operation]:
        """Every operation on tensors, once for each way in which the file reaches it."""
        return self._flow.operations

    @cached_property
    def loss_hazards(self) -> tuple[DtypeHazard, ...]:
        """Exponentials and logarithms that half precision breaks, in code that a loss is differentiated through."""
        if not (calls_followed(self._tree) and self._enters_float16()):
            return ()
        return tuple(loss_hazards(self._flow.operations, self._flow.reached, self._tree))

    @cached_property
    def lowered(self) -> tuple[Operation, ...]:
        """Every operation of a file that enters a region of half precision; nothing of one that does not."""
        return tuple(self._flow.operations) if any(region.lowers for region in self._regions()) else ()

    @cached_property
    def constants(self) -> tuple[ConstantUse, ...]:
        """Constants that meet float16 tensors, one for each place in the file."""
        found = {(each.operation.node, each.use): each for each in reversed(list(constants(self.lowered)))}
        return tuple(reversed(found.values()))

    def users(self, node: cst.CSTNode) -> list[Operation]:
        """The operations that are given what `node` computes, as it is or as some of its elements."""
        return self._users.get(node, [])

    @cached_property
    def _users(self) -> dict[cst.CSTNode, list[Operation]]:
        found: dict[cst.CSTNode, list[Operation]] = {}
        for operation in self.lowered:
            for node in {part.made for part in operation.arguments.tensors if part.made is not None}:
                found.setdefault(node, []).append(operation)
        return found

    def _enters_float16(self) -> bool:
        return any(region.lowers and region.dtype == FLOAT16 for region in self._regions())

    def _regions(self) -> Iterator[Region]:
        for item in self._tree.find(cst.WithItem):
            region = self._contexts.of(item.item)
            if region is not None:
                yield region
        for function in self._tree.find(cst.FunctionDef):
            yield from self._contexts.decorating(function)

    def in_loss(self, operation: Operation) -> bool:
        """Whether a gradient that starts at a loss flows through the operation."""
        return operation in self._flow.reached
