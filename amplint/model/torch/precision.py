"""Which precision the result of an operation has, and what a precision can hold."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from amplint.model.events import Region
from amplint.model.records import frozen
from amplint.model.torch.operators import Kind, Policy, of_kind, policy

FLOAT16, BFLOAT16, FLOAT32, FLOAT64 = "float16", "bfloat16", "float32", "float64"
INTEGER, BOOL, UNKNOWN = "int", "bool", "?"
HALF = frozenset({FLOAT16, BFLOAT16})
EITHER_HALF = "half"
"""One of both, which a run decides."""
ANY_HALF = HALF | {EITHER_HALF}

CASTS: Mapping[str, str] = MappingProxyType(
    {"half": FLOAT16, "bfloat16": BFLOAT16, "float": FLOAT32, "double": FLOAT64}
)
"""Methods that cast tensors and modules."""
DTYPES: Mapping[str, str] = MappingProxyType(
    {f"torch.{name}": dtype for name, dtype in CASTS.items()}
    | {f"torch.{dtype}": dtype for dtype in (FLOAT16, FLOAT32, FLOAT64)}
)
"""The floating dtypes by what torch calls them; a dtype has several names."""


def named(*dtypes: str) -> frozenset[str]:
    """What torch calls some dtypes, by full name."""
    return frozenset(name for name, dtype in DTYPES.items() if dtype in dtypes)


# -- what a precision can hold -----------------------------------------------------------------------------------------


@frozen
class Limits:
    """The limits of a floating type.

    Attributes:
        largest: the largest finite value.
        vanishing: a positive constant up to this one rounds to zero.
        exp_overflow: `exp` of more than this is infinite.
        sigmoid_one: a sigmoid rounds to exactly 1 from here on.
        sigmoid_zero: a sigmoid rounds to exactly 0 up to here.
    """

    largest: float
    vanishing: float
    exp_overflow: float
    sigmoid_one: float
    sigmoid_zero: float

    @property
    def smallest_invertible(self) -> float:
        """The smallest x whose 1/x, the derivative of a logarithm, is still finite."""
        return 1 / self.largest


LIMITS: Mapping[str, Limits] = MappingProxyType(
    {
        FLOAT16: Limits(65504.0, 2.0**-25, 11.0898, 8.32, -17.34),
        BFLOAT16: Limits(3.3895e38, 2.0**-134, 88.75, 6.24, -89.0),
        FLOAT32: Limits(3.4028e38, 2.0**-150, 88.7228, 16.64, -88.73),
    }
)


def rounded(value: float, dtype: str) -> float:
    """A number as float16 holds it (round to nearest even, beyond the range infinite); other dtypes leave it alone.

    Args:
        value: the number.
        dtype: the name of the dtype.
    """
    if dtype != FLOAT16 or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


# -- which precision an operation runs in ------------------------------------------------------------------------------


DEFAULT_DTYPE: Mapping[str, str] = MappingProxyType(
    {
        "cuda": FLOAT16,
        "xpu": FLOAT16,
        "mtia": FLOAT16,
        "maia": BFLOAT16,
        "mps": FLOAT16,
        "cpu": BFLOAT16,
        "hpu": BFLOAT16,
        "xla": BFLOAT16,
        "ipu": FLOAT16,
    }
)
"""What a region computes in when no dtype is given, by device type."""


def lifted(op: str, region: Region | None) -> bool:
    """Whether a region runs an operation in float32, were it not for an in-place form or `out=`.

    Args:
        op: the name of the function, without module.
        region: the region in effect; None for none.
    """
    if region is None or not active(region):
        return False
    return policy(op, region.device) in (Policy.FLOAT32, Policy.FLOAT32_RESULT)


_COUNTING = frozenset({"sum", "prod", "cumsum", "cumprod"})
"""Operations that give integers for truth values and for integers."""
_WIDTH = {BOOL: 0, INTEGER: 1, FLOAT16: 2, BFLOAT16: 2, EITHER_HALF: 2, FLOAT32: 3, FLOAT64: 4}

_ONE_DTYPE = of_kind(Kind.PRODUCT) - {"outer", "addr", "chain_matmul", "linear", "bilinear"}
"""Operations that refuse operands of different dtypes outside of autocast (tried on PyTorch 2.13); with weights of layers, whole
models may be in half."""


def promoted(dtypes: Iterable[str]) -> str:
    """The dtype of an operation on tensors of these dtypes; unknown as soon as one of them is, except beside float64."""
    found = set(dtypes)
    if FLOAT64 in found:
        return FLOAT64
    if not found or UNKNOWN in found:
        return UNKNOWN
    if EITHER_HALF in found and found & HALF:
        return UNKNOWN
    if found >= HALF:
        return FLOAT32
    return max(found, key=_WIDTH.__getitem__)


def _shared(dtypes: tuple[str, ...]) -> str:
    """The dtype of a product, whose operands have one and the same, or it raises: that of those which is known."""
    known = set(dtypes) - {UNKNOWN}
    return known.pop() if len(known) == 1 else promoted(dtypes)


def active(region: Region | None) -> bool:
    """Whether operations inside a region can meet autocast: it is enabled, or a flag decides."""
    return region is not None and region.device != "grad" and region.enabled != "no"


def result_dtype(
    op: str, inputs: Iterable[str], region: Region | None, *, in_place: bool = False, explicit: str = ""
) -> str:
    """The dtype of an operation's result.

    Args:
        op: the function's name without its module, such as `log_softmax`.
        inputs: the dtypes of its tensor inputs; Python numbers do not count.
        region: the innermost autocast region in effect; None outside of any.
        in_place: an in-place or `out=` form, which autocast never touches.
        explicit: the `dtype=` that was given.
    """
    given = tuple(inputs)
    if explicit:
        return explicit
    if in_place:
        return given[0] if given else UNKNOWN
    if op in _COUNTING and given and {BOOL, INTEGER}.issuperset(given):  # autocast casts floating point alone
        return INTEGER
    if region is None or not active(region):
        return _shared(given) if op in _ONE_DTYPE else promoted(given)
    rule = policy(op, region.device)
    if rule is None or rule is Policy.BANNED:
        return UNKNOWN
    if rule is Policy.UNLISTED:
        return promoted(given)
    if FLOAT64 in given:
        return FLOAT64
    if rule is Policy.LOWER:
        return region.dtype
    if rule is Policy.PROMOTE:
        return promoted(given)
    return FLOAT32
