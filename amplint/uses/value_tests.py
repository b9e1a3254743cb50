"""What a value, or a test, is about: zero, NaN or infinity."""

from __future__ import annotations

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name
from amplint.syntax.words import words

_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})


def is_zero_value(value: cst.BaseExpression) -> bool:
    """Whether a value is zero, or a tensor of zeros."""
    if isinstance(value, cst.Call):
        return called_name(value) in _ZEROS
    return isinstance(value, (cst.Integer, cst.Float)) and float(value.evaluated_value) == 0


def finds_trouble(test: cst.BaseExpression) -> bool:
    """Whether a test holds where something is NaN or infinite: `isnan(x).any()`, `not isfinite(x).all()`."""
    negated = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return finds_trouble(test.left) or finds_trouble(test.right)
    asked = " ".join(words(test))
    return "finite" in asked if negated else vocabulary.TROUBLE.search(asked) is not None
