"""Numbers that a file spells out, where they are used or where they are assigned."""

from __future__ import annotations

import libcst as cst

from amplint.syntax.classes import Classes
from amplint.syntax.names import Names


def integer(node: cst.BaseExpression, names: Names, classes: Classes) -> cst.Integer | None:
    """The literal that an expression stands for: it is one, or a variable or an attribute of `self` that is assigned once.

    Args:
        node: any expression.
        names: what the names of its file mean.
        classes: the classes of its file.
    """
    if isinstance(node, cst.Integer):
        return node
    values: list[cst.BaseExpression | None] = []
    if isinstance(node, cst.Name):
        values = [binding.value for binding in names.bindings(node.value, node)]
    elif isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        owner = classes.owner(node)
        values = [*owner.values(node.attr.value)] if owner is not None else []
    return values[0] if len(values) == 1 and isinstance(values[0], cst.Integer) else None
