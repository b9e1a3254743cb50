"""What the sides of the branches of a file are for, as their tests say: with AMP, without it, in evaluation alone.

The flow comes by the same branch many times, and this never changes: each branch is read once.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from amplint.dtypes.precision_tests import lowers, side_that_is_plain, side_with_amp, side_without_amp
from amplint.dtypes.training_tests import evaluated, is_without_gradients
from amplint.model.events import NO_GRAD, Region
from amplint.model.records import NamedTuple
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.names import Names

Side = cst.BaseSuite | None
"""One side of a branch; None for what runs where no test of it holds."""


class AmpSides(NamedTuple):
    """The side of one `if` that runs in a region which lowers precision, and the one that runs without AMP, if it has such."""

    lowered: Side
    plain: Side


class BranchSides:
    """The sides of the branches of one file.

    Args:
        names: what its names mean.
        contexts: what it enters.
    """

    def __init__(self, names: Names, contexts: Contexts) -> None:
        self._names, self._contexts = names, contexts
        # By identity, as nodes hash slowly; the tree keeps them all.
        self._off: dict[int, Mapping[Side, Region]] = {}
        self._amp: dict[int, AmpSides] = {}
        self._idle: dict[int, bool] = {}
        self._lowering: dict[int, bool] = {}

    def switched_off(self, node: cst.If) -> Mapping[Side, Region]:
        """The sides that run without gradients, or with autocast switched off, each with the region that says so.

        Args:
            node: the first `if` of a chain.
        """
        if id(node) not in self._off:
            off: dict[Side, Region] = dict.fromkeys(evaluated(node, self._names), NO_GRAD)
            branch: cst.If | cst.Else | None = node
            while type(branch) is cst.If:
                off.update(filter(None, [side_without_amp(branch, self._contexts)]))
                branch = branch.orelse
            self._off[id(node)] = off
        return self._off[id(node)]

    def of_amp(self, node: cst.If) -> AmpSides:
        """The sides with AMP and without.

        Args:
            node: the `if`, the one of an `elif` included.
        """
        if id(node) not in self._amp:
            self._amp[id(node)] = AmpSides(side_with_amp(node, self._contexts), side_that_is_plain(node))
        return self._amp[id(node)]

    def is_idle(self, side: cst.BaseSuite) -> bool:
        """Whether a side computes what it computes without gradients."""
        if id(side) not in self._idle:
            self._idle[id(side)] = is_without_gradients(side, self._contexts)
        return self._idle[id(side)]

    def lowers(self, side: cst.BaseSuite) -> bool:
        """Whether a side enters a region that lowers precision."""
        if id(side) not in self._lowering:
            self._lowering[id(side)] = lowers(side, self._contexts)
        return self._lowering[id(side)]
