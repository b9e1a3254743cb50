"""The dtype flow: which values autocast computes in half, what bounds them, and what a loss is differentiated through.

One abstract evaluation of a file, from its module body and from each of its functions. Functions and classes of the file
are followed into at every call, with the arguments and the regions of that call, so that a criterion is judged where it
runs. Values of unknown functions and parameters are unknown, and everything built on the unknown stays so.
"""

from __future__ import annotations

from functools import cached_property

from amplint.lowering.classes import Classes
from amplint.lowering.contexts import Contexts
from amplint.lowering.dtypes.statements import Statements
from amplint.lowering.dtypes.values import Operation, Tensor
from amplint.lowering.names import Names
from amplint.lowering.tree import Tree

__all__ = ["Dtypes", "Operation", "Tensor"]

_BUDGET = 200_000
"""Expressions evaluated per file; past it the rest of the file is not judged."""


class Dtypes:
    """The dtype flow of one file; evaluated when first asked."""

    def __init__(self, tree: Tree, names: Names, contexts: Contexts, classes: Classes) -> None:
        self._flow = Statements(tree, names, contexts, classes, _BUDGET)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Every operation on tensors, once for each way in which the file reaches it."""
        self._flow.whole_file()
        return tuple(self._flow.operations)

    def in_loss(self, operation: Operation) -> bool:
        """Whether a gradient that starts at a loss flows through the operation."""
        return bool(self.operations) and operation in self._flow.reached

    def cancelled(self, operation: Operation) -> bool:
        """Whether later operations cancel the derivative of this one on every way to the loss."""
        return bool(self.operations) and self._flow.reached.get(operation, False)
