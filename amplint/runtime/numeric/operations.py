"""The closed list: which operations a replayed expression may be made of, and where torch has them.

An operation goes by a module and a name: `torch.log`, `functional.softplus`, `special.expit`, `linalg.norm`, `Tensor.exp_`,
`nn.Sigmoid`, `operator.add`. None of them calls back into other code, reads or writes files, or takes more than tensors and
literals. What draws at random draws the same numbers each time (`amplint.runtime.numeric.compute`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

_ELEMENTWISE = """
    abs absolute neg negative positive exp exp2 expm1 log log2 log10 log1p logit expit sigmoid tanh sqrt rsqrt square
    reciprocal sin cos tan asin acos atan sinh cosh asinh acosh atanh erf erfc erfinv sign sgn round floor ceil frac trunc relu
    relu6 leaky_relu elu selu celu gelu silu mish softplus softsign hardtanh hardsigmoid hardswish logsigmoid tanhshrink
    softshrink hardshrink threshold prelu xlogy xlog1py entr lgamma digamma logaddexp logaddexp2 log_ndtr clamp clip clamp_min
    clamp_max maximum minimum fmax fmin add sub subtract rsub mul multiply div divide true_divide floor_divide remainder fmod
    pow float_power atan2 hypot lerp where addcmul addcdiv nan_to_num heaviside glu i0 sinc
"""
_REDUCTIONS = """
    sum mean prod max min amax amin median nanmedian nanmean nansum var std var_mean std_mean logsumexp norm vector_norm
    matrix_norm cumsum cumprod logcumsumexp cummax cummin argmax argmin any all count_nonzero aminmax softmax log_softmax
    softmin normalize cosine_similarity pairwise_distance cdist dist pdist layer_norm group_norm rms_norm instance_norm
    batch_norm local_response_norm renorm quantile nanquantile gumbel_softmax
"""
_PRODUCTS = """
    matmul mm bmm mv dot vdot inner outer einsum addmm addmv addr addbmm baddbmm chain_matmul multi_dot linear bilinear
    tensordot cross trace vecdot scaled_dot_product_attention
"""
_LAYOUT = """
    view reshape squeeze unsqueeze permute transpose t flatten unflatten contiguous expand expand_as repeat repeat_interleave
    gather index_select take_along_dim take select narrow diagonal tril triu roll flip sort topk argsort chunk split unbind
    clone requires_grad_ masked_select masked_fill movedim swapaxes swapdims view_as reshape_as cat concat concatenate stack
    hstack vstack diag diag_embed diff meshgrid unfold scatter scatter_add index_add index_fill index_copy index_put
    masked_scatter broadcast_to broadcast_tensors unique pad detach pixel_shuffle one_hot bucketize searchsorted dropout
    identity alpha_dropout
"""
_POOLS = """
    avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d interpolate upsample upsample_nearest
    upsample_bilinear
"""
_LOSSES = """
    cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy
    binary_cross_entropy_with_logits poisson_nll_loss gaussian_nll_loss hinge_embedding_loss margin_ranking_loss
    soft_margin_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
    cosine_embedding_loss
"""
_MADE = """
    zeros ones empty full tensor as_tensor scalar_tensor eye arange linspace logspace zeros_like ones_like empty_like full_like
    new_zeros new_ones new_empty new_full new_tensor hann_window
"""
RANDOM = frozenset("rand randn randint randperm rand_like randn_like normal multinomial bernoulli".split())
"""Operations that draw at random."""
_ASKING = """
    eq ne lt le gt ge isnan isinf isfinite isclose logical_and logical_or logical_not logical_xor nonzero bincount size dim
    numel item nelement fill zero masked_fill copy
"""

NAMES = frozenset(
    " ".join((_ELEMENTWISE, _REDUCTIONS, _PRODUCTS, _LAYOUT, _POOLS, _LOSSES, _MADE, _ASKING)).split()
) | (RANDOM - {"multinomial", "bernoulli", "normal"})  # fmt: skip
"""The functions of torch and the methods of tensors on the list; in-place forms count as their plain ones."""

LAYERS = frozenset(
    """
    ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Tanh Sigmoid Hardsigmoid Hardswish Hardtanh Softplus Softsign Softmax
    Softmin LogSoftmax LogSigmoid Identity Flatten Unflatten CosineSimilarity PairwiseDistance CrossEntropyLoss NLLLoss MSELoss
    L1Loss SmoothL1Loss HuberLoss KLDivLoss BCELoss BCEWithLogitsLoss PoissonNLLLoss HingeEmbeddingLoss MarginRankingLoss
    SoftMarginLoss TripletMarginLoss MultiMarginLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss
    GaussianNLLLoss Dropout Dropout1d Dropout2d Dropout3d AvgPool1d AvgPool2d MaxPool1d MaxPool2d AdaptiveAvgPool1d
    AdaptiveAvgPool2d AdaptiveMaxPool1d AdaptiveMaxPool2d
""".split()
)
"""The layers without weights, and losses, on the list; what other layers give back is a value from outside."""

ATTRIBUTES = frozenset("T mT H mH shape dtype values indices ndim data".split())
"""The attributes of tensors, and of pairs that torch gives back, on the list."""

CASTS: Mapping[str, str] = MappingProxyType(
    {"float": "float32", "half": "float16", "bfloat16": "bfloat16", "double": "float64", "bool": "bool", "long": "int64",
     "int": "int32"}
)  # fmt: skip
"""Methods that give back a tensor in another dtype."""

UNMOVED = frozenset("cuda cpu contiguous requires_grad_ identity dropout alpha_dropout to_dense".split())
"""Operations that give back what they are given, as far as values go; a dropout is taken to drop nothing."""

_SOURCES: Mapping[str, object] = MappingProxyType(
    {
        "torch": torch, "functional": torch.nn.functional, "special": torch.special, "linalg": torch.linalg,
        "Tensor": torch.Tensor, "nn": torch.nn,
    }
)  # fmt: skip

_OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        name: getattr(operator, name)
        for name in "add sub mul truediv pow matmul floordiv mod neg pos invert eq ne lt le gt ge and_ or_ xor".split()
    }
)

_MATH: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"math.log": math.log, "math.exp": math.exp, "math.sqrt": math.sqrt, "math.pow": math.pow, "math.log2": math.log2,
     "math.log10": math.log10, "math.log1p": math.log1p, "builtins.float": float, "builtins.int": int, "builtins.abs": abs,
     "builtins.max": max, "builtins.min": min, "builtins.len": len, "builtins.round": round, "torch.finfo": torch.finfo}
)  # fmt: skip
"""Functions of numbers; those of builtins also take tensors."""

CONSTANTS: Mapping[str, object] = MappingProxyType(
    {"math.pi": math.pi, "math.e": math.e, "math.inf": math.inf, "torch.pi": math.pi, "torch.inf": math.inf,
     "torch.nan": math.nan, "torch.e": math.e, "math.nan": math.nan}
)  # fmt: skip


def listed(op: str) -> bool:
    """Whether an operation is on the list, and the installed torch has it."""
    source, _, name = op.rpartition(".")
    if source == "operator":
        return name.removeprefix("i") in _OPERATORS or name in _OPERATORS
    if op in _MATH:
        return True
    if source == "nn":
        return name in LAYERS and hasattr(torch.nn, name)
    in_place = source == "Tensor" and name.endswith("_") and not name.endswith("__")
    return (name.rstrip("_") if in_place else name) in NAMES and hasattr(_SOURCES.get(source), name)


def function(op: str) -> Callable[..., Any]:
    """What torch computes an operation with.

    Raises:
        KeyError: the operation is not on the list.
    """
    if not listed(op):
        raise KeyError(op)
    source, _, name = op.rpartition(".")
    if op in _MATH:
        return _MATH[op]
    found: Callable[..., Any] = _OPERATORS[name] if source == "operator" else getattr(_SOURCES[source], name)
    return found
