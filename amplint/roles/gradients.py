"""Gradients of tensors (`weight.grad`), told from other attributes of that name."""

from __future__ import annotations

import libcst as cst

from amplint.roles import user_options
from amplint.syntax.access_paths import path_of


def is_gradient(node: cst.CSTNode) -> bool:
    """Whether an expression is the gradient of a tensor.

    An attribute of the object itself (`self.grad`, which may count what is accumulated) and an option (`args.grad`) are not.
    """
    if type(node) is not cst.Attribute or node.attr.value != "grad":
        return False
    path = path_of(node)
    return path not in ("self.grad", "cls.grad") and not user_options.is_option(path)
