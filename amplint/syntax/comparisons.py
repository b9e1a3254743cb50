"""What the operators of comparisons of two numbers, or two tuples of them, compute."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

import libcst as cst

COMPARED: Mapping[type[cst.BaseCompOp], Callable[..., bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}
"""By the kind of the operator."""
