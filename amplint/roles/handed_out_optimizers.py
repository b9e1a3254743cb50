"""Optimizers that a library hands out again, wrapped, under the name that they had."""

from __future__ import annotations

import libcst as cst

from amplint.roles.roles import Roles


def is_or_wraps_optimizer(roles: Roles, node: cst.BaseExpression) -> bool:
    """Whether an expression names an optimizer, also one that a library hands out again under the same name.

    Args:
        roles: what the objects of the file are.
        node: the expression.
    """
    role = roles.of(node).role
    made = (roles.made_by(value) for value in roles.values(node)) if role == "framework" else ()
    return role == "optimizer" or any(each is not None and each.role == "optimizer" for each in made)
