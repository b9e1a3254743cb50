"""The parameters of a file that hold numbers of Python, and not tensors."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.syntax.names import dotted
from amplint.syntax.tree import Tree


class NumberParameters:
    """Those of one file.

    Args:
        tree: the file.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def holds(self, param: cst.Param, function: cst.FunctionDef | cst.Lambda) -> bool:
        """Whether a parameter is a number: annotated so, or a setting that a constructor computes with.

        Args:
            param: the parameter.
            function: what has it.
        """
        if param.annotation is not None:
            return dotted(param.annotation.annotation) in ("int", "float")
        if not isinstance(function, cst.FunctionDef) or function.name.value != "__init__":
            return False
        return (function, param.name.value) in self._settings

    @cached_property
    def _settings(self) -> frozenset[tuple[cst.CSTNode | None, str]]:
        """Names by function that a number is computed with: halved, squared, counted."""
        counting = (cst.FloorDivide, cst.Modulo, cst.Power)
        return frozenset(
            (self._tree.enclosing(operation, cst.FunctionDef), side.value)
            for operation in self._tree.find(cst.BinaryOperation)
            if isinstance(operation.operator, counting)
            for side in (operation.left, operation.right)
            if isinstance(side, cst.Name)
        )
