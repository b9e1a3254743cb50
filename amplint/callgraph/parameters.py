"""The parameters of functions, and of the constructors of classes."""

from __future__ import annotations

import ast
from typing import TypeGuard

from amplint.callgraph.definitions import Function


def takes(node: ast.stmt, name: str) -> TypeGuard[Function | ast.ClassDef]:
    """Whether a function, or the constructor of a class, has a parameter.

    Args:
        node: the function or class, or any other statement.
        name: the name of the parameter.
    """
    return name in parameter_names(node)


def parameter_names(node: ast.stmt) -> list[str]:
    """The parameters of a function, or of the constructor of a class, in the order in which a call gives them."""
    own = 0
    if isinstance(node, ast.ClassDef):
        made = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
        node, own = next(made, node), 1
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)][own:]
