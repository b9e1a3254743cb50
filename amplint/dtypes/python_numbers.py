"""Numbers that Python computes before any tensor is there: what functions and constants of `math` and NumPy give."""

from __future__ import annotations

import math
from types import MappingProxyType

from amplint.dtypes.values import Arguments, Number

_FUNCTIONS = frozenset(
    {
        "builtins.len",
        "builtins.int",
        "builtins.float",
        "numpy.sqrt",
        "numpy.prod",
        "numpy.log",
        "numpy.cos",
        "numpy.sin",
    }
)
_WHOLE = frozenset({"len", "int", "floor", "ceil", "trunc"})
_REACH = MappingProxyType(
    {"cos": 1.0, "sin": 1.0, "tanh": 1.0, "erf": 1.0, "asin": math.pi, "acos": math.pi, "atan": math.pi}
)
"""No result of these is larger, whatever they are given."""
_CONSTANTS = MappingProxyType(
    {f"{module}.{name}": getattr(math, name) for module in ("math", "numpy") for name in ("pi", "e")}
)


def computed(meaning: str, arguments: Arguments) -> Number | None:
    """What a function gives that computes a number; None for other functions.

    Args:
        meaning: the qualified name of the function.
        arguments: what it is given.
    """
    module, _, name = meaning.rpartition(".")
    if module != "math" and meaning not in _FUNCTIONS:
        return None
    given = [each.value if isinstance(each, Number) else None for each in arguments.all]
    values = [each for each in given if each is not None]
    value = _called(name, values) if values and len(values) == len(given) else None
    return Number(value, name in _WHOLE, _REACH.get(name, math.inf))


def library_number(meaning: str) -> Number | None:
    """The number that a name of a library stands for; None where it stands for none.

    Args:
        meaning: the qualified name.
    """
    value = _CONSTANTS.get(meaning)
    return None if value is None else Number(value)


def _called(name: str, values: list[float]) -> float | None:
    """What a function of `math` makes of numbers; None where it has nothing finite to give."""
    function = {"int": math.trunc, "float": float}.get(name) or getattr(math, name, None)
    try:
        value = float(function(*values)) if callable(function) else math.inf
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None
