"""What the operators of comparisons of two numbers compute."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

import libcst as cst

COMPARED: Mapping[type[cst.BaseCompOp], Callable[[float, float], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}
"""By the kind of the operator."""
