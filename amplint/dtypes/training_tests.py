"""Tests of whether a module is being trained, and what runs only while it is not: through that no gradient flows."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.names import dotted

_TRAINING = "self.training"


def evaluated(node: cst.If) -> Iterator[cst.BaseSuite | None]:
    """The sides of an `if` that run in evaluation alone; None stands for what runs where no test of it holds.

    Args:
        node: the first `if` of a chain.
    """
    left = False
    branch: cst.If | cst.Else | None = node
    while type(branch) is cst.If:
        if left or _rules_out(branch.test, True):
            yield branch.body
        left = left or _rules_out(branch.test, False)
        branch = branch.orelse
    if left:
        yield branch.body if type(branch) is cst.Else else None


def _rules_out(test: cst.BaseExpression, truth: bool) -> bool:
    """Whether the module is not being trained where a test comes out as said."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _rules_out(test.expression, not truth)
    if isinstance(test, cst.BooleanOperation):
        sides = (_rules_out(side, truth) for side in (test.left, test.right))
        return any(sides) if isinstance(test.operator, cst.And) == truth else all(sides)
    return not truth and dotted(test) == _TRAINING
