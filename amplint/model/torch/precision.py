"""Which precision autocast gives an operation, and what a precision can hold.

The tables follow the operations that PyTorch 2.13 registers for each autocast device (read from the binary and
`ATen/autocast_mode.h`; CUDA's are identical since 2.4 except `rms_norm`). Only out-of-place forms without `out=` are
registered: in-place forms run in the dtype of their inputs on every device.
"""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from amplint.model.events import Region

FLOAT16, BFLOAT16, FLOAT32, FLOAT64 = "float16", "bfloat16", "float32", "float64"
INTEGER, BOOL, UNKNOWN = "int", "bool", "?"
HALF = frozenset({FLOAT16, BFLOAT16})


# -- what a precision can hold -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """The limits of a floating type.

    Attributes:
        largest: the largest finite value.
        smallest_normal: the smallest value of full precision.
        smallest: the smallest value above zero.
        vanishing: a positive constant up to this one rounds to zero.
        spacing: the distance from 1 to the next larger value.
        exp_overflow: `exp` of more than this is infinite.
        sigmoid_one: a sigmoid rounds to exactly 1 from here on.
        sigmoid_zero: a sigmoid rounds to exactly 0 up to here.
    """

    largest: float
    smallest_normal: float
    smallest: float
    vanishing: float
    spacing: float
    exp_overflow: float
    sigmoid_one: float
    sigmoid_zero: float

    @property
    def smallest_invertible(self) -> float:
        """The smallest x whose 1/x, the derivative of a logarithm, is still finite."""
        return 1 / self.largest


LIMITS: Mapping[str, Limits] = MappingProxyType(
    {
        FLOAT16: Limits(65504.0, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-10, 11.0898, 8.32, -17.34),
        BFLOAT16: Limits(3.3895e38, 2.0**-126, 2.0**-133, 2.0**-134, 2.0**-7, 88.75, 6.24, -89.0),
        FLOAT32: Limits(3.4028e38, 2.0**-126, 2.0**-149, 2.0**-150, 2.0**-23, 88.7228, 16.64, -88.73),
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


class Policy(enum.Enum):
    """What autocast does with the floating inputs of an operation."""

    LOWER = "cast to the dtype of the region"
    FLOAT32 = "cast to float32"
    FLOAT32_RESULT = "float32 result unless an explicit dtype is given"
    PROMOTE = "cast to the widest floating input"
    BANNED = "refused"
    UNLISTED = "left alone"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOWER = _words("""
    _convolution convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d prelu addmm
    addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot lstm_cell gru_cell
    rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention lstm gru rnn_tanh rnn_relu multi_head_attention
""")
_FLOAT32 = _words("""
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow square softplus layer_norm
    native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss
    cosine_embedding_loss nll_loss hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss cross_entropy
    binary_cross_entropy_with_logits ctc_loss dist pdist cdist renorm logsumexp normalize pairwise_distance
    gumbel_softmax local_response_norm multilabel_soft_margin_loss interpolate upsample upsample_nearest
    upsample_bilinear
""")
_FLOAT32_RESULT = _words("""
    prod softmax log_softmax softmin cumprod cumsum linalg_vector_norm linalg_matrix_norm linalg_norm sum norm
""")
_PROMOTE = _words(
    "addcdiv addcmul atan2 bilinear cross dot vdot grid_sample grid_sampler index_put tensordot scatter_add"
)
_BANNED = _words("binary_cross_entropy")

_CPU_LOWER = _words("""
    conv1d conv2d conv3d _convolution conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d bmm mm linalg_vecdot
    baddbmm addmm addbmm linear matmul prelu scaled_dot_product_attention einsum inner tensordot multi_head_attention
""")
_CPU_FLOAT32 = _words("""
    avg_pool3d adaptive_avg_pool3d max_pool3d adaptive_max_pool3d max_unpool2d max_unpool3d fractional_max_pool2d
    fractional_max_pool3d binary_cross_entropy binary_cross_entropy_with_logits cross_entropy cross_entropy_loss mse_loss
    l1_loss smooth_l1_loss huber_loss nll_loss kl_div poisson_nll_loss cosine_embedding_loss hinge_embedding_loss
    margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss ctc_loss
    grid_sample grid_sampler polar prod quantile nanquantile stft cdist trace view_as_complex inverse pinverse cholesky
    qr svd triangular_solve geqrf orgqr ormqr
""")
_CPU_PROMOTE = _words("cat stack index_copy")

_MPS_UNLISTED = _words("""
    rms_norm linalg_vecdot vdot norm gru_cell rnn_tanh_cell rnn_relu_cell interpolate upsample upsample_nearest
    upsample_bilinear binary_cross_entropy
""")


def _table(*policies: tuple[Policy, Iterable[str]]) -> Mapping[str, Policy]:
    return MappingProxyType({op: policy for policy, ops in policies for op in ops})


_CUDA = _table(
    (Policy.LOWER, _LOWER),
    (Policy.FLOAT32, _FLOAT32),
    (Policy.FLOAT32_RESULT, _FLOAT32_RESULT),
    (Policy.PROMOTE, _PROMOTE),
    (Policy.BANNED, _BANNED),
)
_CPU = _table((Policy.LOWER, _CPU_LOWER), (Policy.FLOAT32, _CPU_FLOAT32), (Policy.PROMOTE, _CPU_PROMOTE))
_MPS = MappingProxyType(
    {op: policy for op, policy in _CUDA.items() if op not in _MPS_UNLISTED} | {"batch_norm": Policy.FLOAT32}
)

TABLES: Mapping[str, Mapping[str, Policy]] = MappingProxyType(
    {"cuda": _CUDA, "xpu": _CUDA, "mtia": _CUDA, "maia": _CUDA, "cpu": _CPU, "mps": _MPS}
)
"""Operations by device type; a device without an entry has no table in the stock build."""

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


def policy(op: str, device: str) -> Policy | None:
    """What autocast does with an operation; None when the device is not known.

    Args:
        op: the name of the function, without module.
        device: the device type.
    """
    table = TABLES.get(device)
    return None if table is None else table.get(op, Policy.UNLISTED)


def lifted(op: str, region: Region | None) -> bool:
    """Whether a region runs an operation in float32, were it not for an in-place form or `out=`.

    Args:
        op: the name of the function, without module.
        region: the region in effect; None for none.
    """
    if region is None or not active(region):
        return False
    return policy(op, region.device) in (Policy.FLOAT32, Policy.FLOAT32_RESULT)


_WIDTH = {BOOL: 0, INTEGER: 1, FLOAT16: 2, BFLOAT16: 2, FLOAT32: 3, FLOAT64: 4}


def promoted(dtypes: Iterable[str]) -> str:
    """The dtype of an operation on tensors of these dtypes; unknown as soon as one of them is, except beside float64."""
    found = set(dtypes)
    if FLOAT64 in found:
        return FLOAT64
    if not found or UNKNOWN in found:
        return UNKNOWN
    if found >= HALF:
        return FLOAT32
    return max(found, key=_WIDTH.__getitem__)


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
    if region is None or not active(region):
        return promoted(given)
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
