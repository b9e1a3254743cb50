"""Why an operation on finite operands gave inf or NaN, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

OVERFLOW = "overflow"
"""What the words begin with where a finite result is too large for its dtype."""
_UNSEEN = "it is data, or was made in an earlier step"
_LOGARITHMS = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0, "xlogy": 0.0}
"""Logarithms, and where each has its pole."""
_DIVISORS = {"div": 1, "true_divide": 1, "reciprocal": 0, "rsqrt": 0, "addcdiv": 2}
"""Operations that divide, and which of their arguments they divide by."""
_GROWING = frozenset({"exp", "exp2", "expm1", "sinh", "cosh", "pow", "mul", "prod", "cumprod"})
"""Operations that have no pole: where even float64 gives inf, the result is too large."""
_MEANS = frozenset({"mean", "nll_loss_forward", "nll_loss2d_forward"})
_DEVIATIONS = frozenset({"std", "var", "std_mean", "var_mean"})
_OF_INFINITY = {
    "_softmax": "a softmax over nothing but -inf",
    "_log_softmax": "a softmax over nothing but -inf, or an infinite score",
    "add": "inf - inf",
    "sub": "inf - inf",
    "sum": "inf - inf",
    "mean": "inf - inf",
    "mul": "0 * inf",
    "div": "inf / inf",
}
"""What makes NaN of inf, by operation."""
_NO_NUMBER = "inf - inf, 0 * inf, or a softmax over nothing but -inf"
_RULES = {"exp": "AMP301", "log": "AMP301", "pow": "AMP309", "mul": "AMP309", "binary_cross_entropy": "AMP304"}
"""Rules whose pages speak of an operation's overflow, or of its zero."""


class Reason(NamedTuple):
    """A cause in words, and the rule that speaks of it (may be empty)."""

    why: str
    rule: str = ""


def why_not_finite(
    operation: str,
    call: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    result: torch.Tensor,
    labels: Sequence[str] = (),
) -> Reason:
    """The cause of a result that is not finite.

    Args:
        operation: the operation's name without namespace and overload, such as `div`.
        call: the operation.
        args: what it was given by position.
        kwargs: what it was given by name.
        result: what it gave.
        labels: the names of its operands; those of parameters and buffers are known.
    """
    operands = [one for one in _tensors((args, kwargs)) if one.is_floating_point()]
    undefined = bool(torch.isnan(result).any())
    if (given := _given(operation, operands, undefined, labels)) is not None:
        return given
    if why := _number_given(operation, (args, kwargs), undefined):
        return Reason(why)
    rule = _RULES.get(operation, "")
    if undefined and (why := _undefined(operation, operands, args)):
        return Reason(why)
    if operation == "_linalg_slogdet":
        return Reason("the logarithm of a determinant that is zero")
    pole = _LOGARITHMS.get(operation)
    if pole is not None and any(bool((one == pole).any()) for one in operands):
        return Reason(f"the logarithm of zero{_lost_epsilon(operands)}", rule)
    if operation == "pow" and (why := _power_of_zero(args)):
        return Reason(why)
    position = _DIVISORS.get(operation, len(args))
    divisor = torch.as_tensor(args[position]) if position < len(args) else None
    if divisor is not None and bool((divisor == 0).any()):
        kind = "0/0" if undefined else "a division by zero"
        return Reason(f"{kind}{_lost_epsilon([divisor])}", "AMP302" if _lost_epsilon([divisor]) else "")
    return _overflow(operation, exact_results(call, args, kwargs), result, rule) or Reason(
        "the operation is not defined for its operands (inf - inf, 0/0, or a root of a negative number)"
        if undefined
        else "the result is infinite in exact arithmetic, too"
    )


def _given(operation: str, operands: Sequence[torch.Tensor], undefined: bool, labels: Sequence[str]) -> Reason | None:
    """The cause, where an operand was not finite to begin with."""
    for number, (operand, label) in enumerate(zip_longest(operands, labels[: len(operands)]), 1):
        name = f"operand {number}" + (f" (`{label}`)" if label else "")
        if bool(torch.isnan(operand).any()) or (bool(torch.isinf(operand).any()) and not undefined):
            return Reason(f"{name} is not finite already: {_UNSEEN}")
        if bool(torch.isinf(operand).any()):
            words = _OF_INFINITY.get(operation, _NO_NUMBER)
            return Reason(f"{name} is infinite: {words}")
    return None


def _number_given(operation: str, given: Any, undefined: bool) -> str:
    """The cause, where a number of the program is not finite, which is no tensor."""
    numbers = [one for one in tree_leaves(given) if isinstance(one, float) and not math.isfinite(one)]
    if any(map(math.isnan, numbers)):
        return "a number that it is given is NaN"
    if not numbers:
        return ""
    return "a number that it is given is infinite" + (
        f": {_OF_INFINITY.get(operation, _NO_NUMBER)}" if undefined else ""
    )


def _undefined(operation: str, operands: Sequence[torch.Tensor], args: Sequence[Any]) -> str:
    """Why an operation on finite operands gave NaN, where its name tells."""
    first = operands[0] if operands else torch.empty(0)
    if operation in _MEANS and not first.numel():
        return "the mean of nothing: there is no element"
    if operation in _MEANS and operation != "mean":
        return "the mean of nothing: every target is ignored, or has the weight zero"
    if operation == "_weight_norm_interface":
        return "0/0: a weight of norm zero has no direction"
    if operation in _DEVIATIONS:
        return "the deviation of a single value, or of none"
    lowest = min((float(one.min()) for one in operands[:1] if one.numel()), default=0.0)
    if operation in ("sqrt", "rsqrt") and lowest < 0:
        return f"the root of a negative number ({lowest:.4g})"
    if operation in _LOGARITHMS and lowest < _LOGARITHMS[operation]:
        return f"the logarithm of a negative number ({lowest - _LOGARITHMS[operation]:.4g})"
    if operation == "pow" and lowest < 0:
        return f"a negative number ({lowest:.4g}) to a power that is no whole number"
    if operation in ("acos", "asin") and float(first.abs().max()) > 1:
        return f"`{operation}` is not defined beyond 1 ({float(first.abs().max()):.8g})"
    return ""


def _power_of_zero(args: Sequence[Any]) -> str:
    base, exponent = map(torch.as_tensor, args[:2])
    if bool(((base == 0) & (exponent < 0)).any()):
        return f"zero to the power of {float(exponent.min()):.4g}: a division by zero{_lost_epsilon([base])}"
    return ""


def _overflow(operation: str, exact: Sequence[torch.Tensor], result: torch.Tensor, rule: str) -> Reason | None:
    limit, dtype = torch.finfo(result.dtype).max, str(result.dtype)[6:]
    largest = max((float(one.abs().max()) for one in exact), default=0.0)
    if math.isfinite(largest) and largest > limit:
        return Reason(f"{OVERFLOW}: {largest:.4g} is beyond {limit:.6g}, the largest {dtype}", rule)
    if largest == math.inf and operation in _GROWING:
        return Reason(f"{OVERFLOW}: the result is beyond {limit:.6g}, the largest {dtype}, and float64's, too", rule)
    return None


def exact_results(call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What an operation gives on the same operands in float64; nothing where it cannot be had.

    The program goes on as if it had not been asked: operands are copied, and what draws random numbers is left out.

    Args:
        call: the operation.
        args: what it was given by position.
        kwargs: what it was given by name.
    """

    def wide(tensor: torch.Tensor) -> torch.Tensor:
        wider = torch.complex128 if tensor.is_complex() else torch.float64
        return tensor.detach().to(
            wider if tensor.is_floating_point() or tensor.is_complex() else tensor.dtype, copy=True
        )

    if torch.Tag.nondeterministic_seeded in getattr(call, "tags", ()):
        return []
    try:
        wide_args, wide_kwargs = tree_map_only(torch.Tensor, wide, (tuple(args), kwargs))
        result = call(*wide_args, **{name: value for name, value in wide_kwargs.items() if name != "dtype"})
    except (RuntimeError, TypeError, NotImplementedError):
        return []
    return [one for one in _tensors(result) if one.numel() and one.dtype in (torch.float64, torch.complex128)]


def _lost_epsilon(operands: Sequence[torch.Tensor]) -> str:
    if any(one.dtype == torch.float16 for one in operands):
        return " in float16, in which everything below 2.98e-08 is zero"
    return ""


def _tensors(values: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor)]
