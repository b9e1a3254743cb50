"""What holds where a node is reached, by the conditions around it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.rule import File


def parts_that_hold(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The parts of a condition that all hold where it holds: `a`, `b` and `c` of `a and b and c`.

    Args:
        test: the condition.
    """
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*parts_that_hold(test.left), *parts_that_hold(test.right)]
    return [test]


def conditions_of(file: File, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The conditions of the same function that hold wherever a node is reached.

    Args:
        file: the file.
        node: the node.
    """
    below = node
    for above in file.tree.ancestors(node):
        if isinstance(above, (cst.FunctionDef, cst.Lambda)):
            return
        if isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And) and below is above.right:
            yield from parts_that_hold(above.left)
        elif isinstance(above, (cst.If, cst.IfExp)) and below is above.body:
            yield from parts_that_hold(above.test)
        below = above
