"""Why an operation on finite operands gave inf or NaN, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

OVERFLOW = "overflow"
"""What the words begin with where a finite result is too large for its dtype."""
_LOGARITHMS = frozenset({"log", "log2", "log10", "log1p"})
_DIVISORS = {"div": 1, "true_divide": 1, "reciprocal": 0, "rsqrt": 0, "addcdiv": 2}
"""Operations that divide, and which of their arguments they divide by."""
_RULES = {"exp": "AMP301", "log": "AMP301", "pow": "AMP309", "mul": "AMP309", "binary_cross_entropy": "AMP304"}
"""Rules whose pages speak of an operation's overflow, or of its zero."""


class Reason(NamedTuple):
    """A cause in words, and the rule that speaks of it (may be empty)."""

    why: str
    rule: str = ""


def why_not_finite(
    operation: str, call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], result: torch.Tensor
) -> Reason:
    """The cause of a result that is not finite.

    Args:
        operation: the operation's name without namespace and overload, such as `div`.
        call: the operation.
        args: what it was given by position.
        kwargs: what it was given by name.
        result: what it gave.
    """
    operands = [one for one in _tensors((args, kwargs)) if one.is_floating_point()]
    undefined = bool(torch.isnan(result).any())
    for number, operand in enumerate(operands, 1):
        if bool(torch.isnan(operand).any()) or (bool(torch.isinf(operand).any()) and not undefined):
            return Reason(f"operand {number} is not finite already")
        if bool(torch.isinf(operand).any()):
            return Reason(f"operand {number} is infinite: inf - inf, 0 * inf, or a softmax over nothing but -inf")
    rule = _RULES.get(operation, "")
    if operation in _LOGARITHMS and any(_has_zero(one) for one in operands):
        return Reason(f"the logarithm of zero{_lost_epsilon(operands)}", rule)
    position = _DIVISORS.get(operation, len(args))
    divisor = torch.as_tensor(args[position]) if position < len(args) else None
    if divisor is not None and _has_zero(divisor):
        kind = "0/0" if undefined else "a division by zero"
        return Reason(f"{kind}{_lost_epsilon([divisor])}", "AMP302" if _lost_epsilon([divisor]) else "")
    exact = max((float(one.abs().max()) for one in exact_results(call, args, kwargs)), default=None)
    limit = torch.finfo(result.dtype).max
    if exact is not None and math.isfinite(exact) and exact > limit:
        return Reason(f"{OVERFLOW}: {exact:.4g} is beyond {limit:.6g}, the largest {str(result.dtype)[6:]}", rule)
    if undefined:
        return Reason("the operation is not defined for its operands (inf - inf, 0/0, or a root of a negative number)")
    return Reason("the result is infinite in exact arithmetic, too")


def exact_results(call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What an operation gives on the same operands in float64; nothing where it cannot be had.

    The program goes on as if it had not been asked: operands are copied, and what draws random numbers is left out.

    Args:
        call: the operation.
        args: what it was given by position.
        kwargs: what it was given by name.
    """

    def wide(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().to(torch.float64 if tensor.is_floating_point() else tensor.dtype, copy=True)

    if torch.Tag.nondeterministic_seeded in getattr(call, "tags", ()):
        return []
    try:
        wide_args, wide_kwargs = tree_map_only(torch.Tensor, wide, (tuple(args), kwargs))
        result = call(*wide_args, **{name: value for name, value in wide_kwargs.items() if name != "dtype"})
    except (RuntimeError, TypeError, NotImplementedError):
        return []
    return [one for one in _tensors(result) if one.numel() and one.dtype == torch.float64]


def _has_zero(tensor: torch.Tensor) -> bool:
    return bool((tensor == 0).any())


def _lost_epsilon(operands: Sequence[torch.Tensor]) -> str:
    if any(one.dtype == torch.float16 for one in operands):
        return " in float16, in which everything below 2.98e-08 is zero"
    return ""


def _tensors(values: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor)]
