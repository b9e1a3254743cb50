"""Tests of whether a module is being trained, and what runs only while it is not: through that no gradient flows."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.names import Names, dotted

_TRAINING = "self.training"


def evaluated(node: cst.If, names: Names) -> Iterator[cst.BaseSuite | None]:
    """The sides of an `if` that run in evaluation alone; None stands for what runs where no test of it holds.

    Args:
        node: the first `if` of a chain.
        names: what the names of the file mean.
    """
    left = False
    branch: cst.If | cst.Else | None = node
    while type(branch) is cst.If:
        if left or _rules_out(branch.test, True, names):
            yield branch.body
        left = left or _rules_out(branch.test, False, names)
        branch = branch.orelse
    if left:
        yield branch.body if type(branch) is cst.Else else None


def is_without_gradients(side: cst.BaseSuite, contexts: Contexts) -> bool:
    """Whether a side of an `if` computes what it computes under `torch.no_grad()`, beside calls such as `model.eval()`.

    Args:
        side: the side.
        contexts: what the file enters.
    """
    blocks = [each for each in side.body if not _only_calls(each)]
    return bool(blocks) and all(type(each) is cst.With and _records_none(each, contexts) for each in blocks)


def _only_calls(statement: cst.CSTNode) -> bool:
    return type(statement) is cst.SimpleStatementLine and all(type(each) is cst.Expr for each in statement.body)


def _records_none(node: cst.With, contexts: Contexts) -> bool:
    regions = (contexts.of(item.item) for item in node.items)
    return any(region is not None and region.device == "grad" for region in regions)


def _rules_out(test: cst.BaseExpression, truth: bool, names: Names) -> bool:
    """Whether the module is not being trained where a test comes out as said."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return _rules_out(test.expression, not truth, names)
    if type(test) is cst.BooleanOperation:
        sides = (_rules_out(side, truth, names) for side in (test.left, test.right))
        return any(sides) if isinstance(test.operator, cst.And) == truth else all(sides)
    bound = names.bindings(test.value, test) if type(test) is cst.Name and not truth else []
    asked = bound[0].value if len(bound) == 1 else test
    return not truth and asked is not None and dotted(asked) == _TRAINING
