"""Contexts that code enters: by `with`, or by a stack that leaves them for it (`contextlib.ExitStack`)."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.access_paths import called_name
from amplint.syntax.tree import Tree

_ENTERS = frozenset({"enter_context", "enter_async_context"})


def entered_by(statement: cst.CSTNode) -> cst.BaseExpression | None:
    """The context that a statement enters for the rest of its block (`stack.enter_context(region)`); None for any other."""
    match statement:
        case cst.SimpleStatementLine(
            body=[cst.Expr(value=cst.Call() as call) | cst.Assign(value=cst.Call() as call)]
        ) if isinstance(call.func, cst.Attribute) and called_name(call) in _ENTERS and len(call.args) == 1:
            return call.args[0].value
    return None


def entered_in(tree: Tree, scope: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The contexts that are entered at and below a node: the items of `with`, and those that stacks enter.

    Args:
        tree: the file.
        scope: the node.
    """
    yield from (item.item for item in tree.inside(scope, cst.WithItem))
    for call in tree.inside(scope, cst.Call):
        yield from (arg.value for arg in call.args if called_name(call) in _ENTERS)
