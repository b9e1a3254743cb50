"""The operations of torch, each once: its kind, what autocast does with it on each device, the bounds of its results, its layers.

Whoever wants a list of operations asks for it here.

What autocast does follows the operations that PyTorch 2.13 registers for each device (read from the binary and
`ATen/autocast_mode.h`; CUDA's are identical since 2.4 except `rms_norm`). Only out-of-place forms without `out=` are
registered: in-place forms run in the dtype of their inputs on every device.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from amplint.model.records import frozen
from amplint.model.torch.layers import LAYERS


class Policy(enum.Enum):
    """What autocast does with the floating inputs of an operation."""

    LOWER = "cast to the dtype of the region"
    FLOAT32 = "cast to float32"
    FLOAT32_RESULT = "float32 result unless an explicit dtype is given"
    PROMOTE = "cast to the widest floating input"
    BANNED = "refused"
    UNLISTED = "left alone"


class Kind(enum.Enum):
    """What an operation does."""

    PRODUCT = "multiplies matrices or vectors"
    CONVOLUTION = "multiplies windows with weights"
    RECURRENT = "goes through a sequence with weights"
    INNER = "is what torch calls inside of another one"
    ELEMENTWISE = "computes each element by itself"
    REDUCTION = "makes one number of many"
    EXTREME = "makes one number of many, which lies between them"
    POOL = "makes one number of each window, which lies between its elements"
    ALONG = "computes elements from those in a row with them"
    LAYOUT = "gives back some of the elements as they are"
    ARRANGE = "puts elements together, or others in their place"
    LOSS = "is a loss"
    TRUTH = "gives truth values"
    INDEX = "gives integers"
    READ = "gives a number of Python"
    MADE = "makes a tensor out of numbers"
    LIKE = "makes a tensor of the dtype of another one"
    OTHER = "is none of these"


_ROWS = """
product lower lower: addbmm addmm baddbmm bmm einsum linear matmul mm scaled_dot_product_attention
product lower -: addmv addr chain_matmul mv
product promote lower: tensordot
product promote -: bilinear cross dot vdot
product - lower: inner
product - -: multi_dot outer vecdot
convolution lower lower: conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
recurrent lower -: gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
inner float32 -: frobenius_norm native_layer_norm nuclear_norm
inner result -: linalg_matrix_norm linalg_norm linalg_vector_norm
inner lower lower: _convolution linalg_vecdot multi_head_attention
inner lower -: convolution linalg_multi_dot
inner - float32: cross_entropy_loss
elementwise float32 -: acos asin cosh erfinv exp expm1 log log10 log1p log2 pow reciprocal rsqrt sinh softplus square
    tan
elementwise lower lower: prelu
elementwise promote -: addcdiv addcmul atan2
elementwise - -: abs absolute acosh add asinh atan atanh ceil celu clamp clamp_max clamp_min clip cos digamma div divide
    elu entr erf erfc exp2 expit float_power floor floor_divide fmax fmin fmod frac gelu glu hardshrink hardsigmoid
    hardswish hardtanh heaviside hypot i0 leaky_relu lerp lgamma log_ndtr logaddexp logaddexp2 logit logsigmoid maximum
    minimum mish mul multiply nan_to_num neg negative positive relu relu6 remainder round rsub selu sgn sigmoid sign
    silu sin sinc softshrink softsign sqrt sub subtract tanh tanhshrink threshold true_divide trunc where xlog1py xlogy
reduction float32 -: logsumexp
reduction result float32: prod
reduction result -: norm sum
reduction - float32: nanquantile quantile trace
reduction - -: matrix_norm nanmean nanmedian nansum std var vector_norm
extreme - -: amax amin max mean median min
pool - float32: adaptive_avg_pool3d avg_pool3d
pool - -: adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d
along float32 float32: cdist
along float32 -: cosine_similarity dist group_norm gumbel_softmax interpolate layer_norm local_response_norm normalize
    pairwise_distance pdist renorm rms_norm upsample upsample_bilinear upsample_nearest
along result -: cumprod cumsum log_softmax softmax softmin
along - -: aminmax batch_norm cummax cummin instance_norm logcumsumexp std_mean var_mean
layout - float32: adaptive_max_pool3d max_pool3d
layout - -: adaptive_max_pool1d adaptive_max_pool2d chunk clone contiguous diagonal dropout expand expand_as flatten
    flip gather identity index_select masked_select max_pool1d max_pool2d movedim narrow permute pixel_shuffle repeat
    repeat_interleave requires_grad_ reshape reshape_as roll select sort split squeeze swapaxes swapdims t take
    take_along_dim topk transpose tril triu unbind unflatten unsqueeze view view_as
arrange promote -: index_put scatter_add
arrange - promote: cat index_copy stack
arrange - -: alpha_dropout broadcast_tensors broadcast_to concat concatenate copy detach diag diag_embed diff fill
    hstack index_add index_fill masked_fill masked_scatter meshgrid pad scatter unfold unique vstack zero
loss banned float32: binary_cross_entropy
loss float32 float32: binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss
    huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss
    poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
loss float32 -: multilabel_soft_margin_loss
loss - -: gaussian_nll_loss
truth - -: all any eq ge gt isclose isfinite isinf isnan le logical_and logical_not logical_or logical_xor lt ne
index - -: arange argmax argmin argsort bincount bucketize count_nonzero nonzero one_hot randint randperm searchsorted
read - -: dim item nelement numel size
made - -: as_tensor empty eye full hann_window linspace logspace ones rand randn scalar_tensor tensor zeros
like - -: empty_like full_like new_empty new_full new_ones new_tensor new_zeros ones_like rand_like randn_like
    zeros_like
other float32 float32: ctc_loss
other promote float32: grid_sample grid_sampler
other - float32: cholesky fractional_max_pool2d fractional_max_pool3d geqrf inverse max_unpool2d max_unpool3d orgqr
    ormqr pinverse polar qr stft svd triangular_solve view_as_complex
other - -: embedding from_numpy multinomial normal
"""
"""Kind, policy on CUDA and policy on the CPU (`result`: float32 result; `-`: unlisted), and the names."""

_MPS_UNLISTED = frozenset(
    "rms_norm linalg_vecdot vdot norm gru_cell rnn_tanh_cell rnn_relu_cell interpolate upsample upsample_nearest "
    "upsample_bilinear binary_cross_entropy".split()
)
_POLICIES = {"result": Policy.FLOAT32_RESULT, "-": Policy.UNLISTED} | {each.name.lower(): each for each in Policy}

_POSITIVE = (0.0, math.inf)
_RANGES = {
    **dict.fromkeys("sigmoid softmax softmin gumbel_softmax hardsigmoid".split(), (0.0, 1.0)),
    **dict.fromkeys("tanh sin cos cosine_similarity normalize".split(), (-1.0, 1.0)),
    **dict.fromkeys("log_softmax logsigmoid".split(), (-math.inf, 0.0)),
    **dict.fromkeys(
        "relu softplus norm square sqrt exp exp2 var std cdist pairwise_distance cross_entropy mse_loss l1_loss "
        "smooth_l1_loss huber_loss binary_cross_entropy_with_logits".split(),
        _POSITIVE,
    ),
    **dict.fromkeys("expm1 elu".split(), (-1.0, math.inf)),
    "relu6": (0.0, 6.0),
}


@frozen
class Operator:
    """An operation.

    Attributes:
        name: the function's name without its module.
        range: between which bounds every element of a result lies.
    """

    name: str
    kind: Kind
    cuda: Policy
    cpu: Policy
    range: tuple[float, float] = (-math.inf, math.inf)

    @property
    def mps(self) -> Policy:
        """What autocast does with it on MPS: as on CUDA, with a few exceptions."""
        if self.name == "batch_norm":
            return Policy.FLOAT32
        return Policy.UNLISTED if self.name in _MPS_UNLISTED else self.cuda


def _operators() -> Iterator[Operator]:
    for row in _ROWS.replace("\n    ", " ").strip().splitlines():
        said, _, names = row.partition(":")
        kind, cuda, cpu = said.split()
        for name in names.split():
            bounds = _RANGES.get(name, (-math.inf, math.inf))
            yield Operator(name, Kind[kind.upper()], _POLICIES[cuda], _POLICIES[cpu], bounds)


OPERATORS: Mapping[str, Operator] = MappingProxyType({each.name: each for each in _operators()})
"""All that is known, by name."""


def of_kind(*kinds: Kind) -> frozenset[str]:
    """The names of the operations of some kinds."""
    return frozenset(name for name, each in OPERATORS.items() if each.kind in kinds)


def layers_of(*kinds: Kind) -> frozenset[str]:
    """The classes of `torch.nn` that run operations of some kinds."""
    return frozenset(layer for layer, op in LAYERS.items() if OPERATORS[op].kind in kinds)


def _table(device: str) -> Mapping[str, Policy]:
    policies = {name: getattr(each, device) for name, each in OPERATORS.items()}
    return MappingProxyType({name: policy for name, policy in policies.items() if policy is not Policy.UNLISTED})


_CUDA = _table("cuda")
TABLES: Mapping[str, Mapping[str, Policy]] = MappingProxyType(
    {"cuda": _CUDA, "xpu": _CUDA, "mtia": _CUDA, "maia": _CUDA, "cpu": _table("cpu"), "mps": _table("mps")}
)
"""What autocast lists, by device type; a device without an entry has no table in the stock build."""


def policy(op: str, device: str) -> Policy | None:
    """What autocast on a device type does with an operation; None when the device is not known.

    Args:
        op: the name of the function, without module.
        device: the device type.
    """
    table = TABLES.get(device)
    return None if table is None else table.get(op, Policy.UNLISTED)
