"""Numbers that an author wrote down, read without running anything."""

from __future__ import annotations

import ast
import math
import operator
import re

_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip


def number_text(value: float, digits: int = 4) -> str:
    """A number as people write it in code: `-1e9`, `2.98e-8`, `65536`.

    Args:
        value: the number.
        digits: how many significant digits to show.
    """
    if not math.isfinite(value):
        return f"{value:g}"
    plain = f"{int(value)}" if value == int(value) and abs(value) < 1e6 else f"{value:.{digits}g}"
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].strip('+')}{found[2]}", plain)


def constant_text(text: str, value: float) -> str:
    """A constant in the author's own words, where these spell its value; otherwise the number.

    Args:
        text: how the author wrote it: `-1e9`, or the name of a constant.
        value: what it is.
    """
    return text if number(text) == value else number_text(value)


def number(text: str) -> float | None:
    """The value of a numeric literal or of simple arithmetic on some (`2.**16`); None for anything else."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, TypeError):  # the last one for a root of a negative number
        return None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError("not a number")
