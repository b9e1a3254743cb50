"""Tests that always come out alike, for they ask constants: `if False`, `x and False`, and `use_amp` behind `use_amp = False`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import libcst as cst

from amplint.syntax.bindings import Binding
from amplint.syntax.tree import Tree

_MAX_NAMES = 3
"""From a name to what it was assigned, and so on, so many times."""


class ConstantTests:
    """The tests of one file that always come out alike.

    A constant of the module that a function asks counts as none: it is what its author switches by hand.

    Args:
        tree: the file.
        bindings: finds what a name is bound to that stands at some place.
    """

    def __init__(self, tree: Tree, bindings: Callable[[str, cst.CSTNode], list[Binding]]) -> None:
        self._tree, self._bindings = tree, bindings

    def truth(self, test: cst.BaseExpression, hops: int = _MAX_NAMES) -> bool | None:
        """How a test always comes out; None where that is not known.

        Args:
            test: what is asked.
            hops: how many names may be followed.
        """
        match test:
            case cst.Name(value="True" | "False" | "None"):
                return test.value == "True"
            case cst.Integer():
                return bool(int(test.value, 0))
            case cst.UnaryOperation(operator=cst.Not(), expression=part):
                truth = self.truth(part, hops)
                return None if truth is None else not truth
            case cst.BooleanOperation(left=left, operator=operator, right=right):
                return combined(self.truth(left, hops), self.truth(right, hops), decisive=isinstance(operator, cst.Or))
            case cst.Name() if hops:
                return self._of_name(test, hops)
        return None

    def sides(self, choice: cst.IfExp) -> list[cst.BaseExpression]:
        """The sides of a conditional expression that may be taken.

        Args:
            choice: the expression.
        """
        truth = self.truth(choice.test)
        return [choice.body, choice.orelse] if truth is None else [choice.body if truth else choice.orelse]

    def _of_name(self, name: cst.Name, hops: int) -> bool | None:
        found = self._bindings(name.value, name)
        value = found[0].value if len(found) == 1 and not isinstance(found[0].node, cst.Param) else None
        at_home = value is not None and self._tree.function(value) is self._tree.function(name)
        return self.truth(value, hops - 1) if value is not None and at_home and name.value not in self._shared else None

    @cached_property
    def _shared(self) -> frozenset[str]:
        """The names of the module that functions assign."""
        statements = self._tree.find(cst.Global)
        return frozenset(item.name.value for each in statements for item in each.names)

    def leave_out(self, node: cst.CSTNode) -> bool:
        """Whether a node stands in a branch that is never taken.

        Args:
            node: any node.
        """
        below = node
        for above in self._tree.ancestors(node):
            if isinstance(above, (cst.If, cst.IfExp)) and below is not above.test:
                truth = self.truth(above.test)
                if truth is not None and truth is not (below is above.body):
                    return True
            below = above
        return False


def combined(one: bool | None, other: bool | None, *, decisive: bool) -> bool | None:
    """The answer to two tests that are joined by `or` or by `and`; None where it is not known.

    Args:
        one: the answer to the first.
        other: the answer to the second.
        decisive: the answer of one that decides: yes for `or`, no for `and`.
    """
    if decisive in (one, other):
        return decisive
    return None if None in (one, other) else not decisive
