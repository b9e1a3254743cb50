"""A call for each operation that CUDA's autocast knows, with sizes that make sense: what runs on a CPU, and on fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Make:
    """Makes the tensors of a call, all on one device and in one precision.

    Attributes:
        torch: the module, given so that this one can be imported without it.
        dtype: the precision of the floating ones.
        device: where they are; on CUDA they have no data.
    """

    torch: Any
    dtype: Any
    device: str = "cpu"

    def __call__(self, *size: int) -> Any:
        """A floating tensor: numbers between 0.1 and 0.9, inside the domain of every operation here."""
        empty = self.torch.empty(size, dtype=self.dtype, device=self.device)
        return empty if self.device == "cuda" else empty.uniform_(0.1, 0.9)

    def classes(self, *size: int) -> Any:
        """Indices, all of them valid."""
        return self.torch.zeros(size, dtype=self.torch.int64, device=self.device)


Sample = Callable[[Make], tuple[Any, ...]]


def _same(names: str, sample: Sample) -> dict[str, Sample]:
    return dict.fromkeys(names.split(), sample)


_NO_PADDING = [1], [0], [1], False, [0], 1  # stride, padding, dilation, transposed, output padding, groups
_LSTM_WEIGHTS, _GRU_WEIGHTS, _RNN_WEIGHTS = (((rows, 3), (rows, 4), (rows,), (rows,)) for rows in (16, 12, 4))


def _cell(weights: tuple[tuple[int, ...], ...]) -> Sample:
    return lambda t: (t(2, 3), t(2, 4), *(t(*size) for size in weights))


SAMPLES: Mapping[str, Sample] = {
    **_same(
        "acos asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh softplus tan", lambda t: (t(4),)
    ),
    **_same("linalg_vector_norm norm.Scalar nuclear_norm pdist prod sum", lambda t: (t(3, 3),)),
    **_same("cumprod cumsum log_softmax.int prod.dim_int softmax.int", lambda t: (t(2, 3), 1)),
    **_same("frobenius_norm.dim logsumexp sum.dim_IntList", lambda t: (t(2, 3), [1])),
    "norm.ScalarOpt_dim": lambda t: (t(2, 3), 2, [1]),
    "nuclear_norm.dim": lambda t: (t(3, 3), [0, 1]),
    "linalg_matrix_norm": lambda t: (t(3, 3), 1),
    "linalg_matrix_norm.str_ord": lambda t: (t(3, 3), "fro"),
    "pow.Scalar": lambda t: (2, t(4)),
    "pow.Tensor_Scalar": lambda t: (t(4), 2),
    "renorm": lambda t: (t(3, 3), 2, 0, 1.0),
    # products
    **_same("atan2 dist linalg_vecdot matmul mm pow.Tensor_Tensor", lambda t: (t(3, 3), t(3, 3))),
    **_same("dot vdot", lambda t: (t(3), t(3))),
    **_same("addmm addcdiv addcmul", lambda t: (t(3, 3), t(3, 3), t(3, 3))),
    **_same("chain_matmul linalg_multi_dot", lambda t: ([t(3, 3), t(3, 3)],)),
    "addbmm": lambda t: (t(3, 3), t(2, 3, 3), t(2, 3, 3)),
    "addmv": lambda t: (t(3), t(3, 3), t(3)),
    "addr": lambda t: (t(3, 3), t(3), t(3)),
    "baddbmm": lambda t: (t(2, 3, 3), t(2, 3, 3), t(2, 3, 3)),
    "bilinear": lambda t: (t(2, 3), t(2, 4), t(5, 3, 4), t(5)),
    "bmm": lambda t: (t(2, 3, 3), t(2, 3, 3)),
    "cdist": lambda t: (t(3, 2), t(4, 2)),
    "cross": lambda t: (t(2, 3), t(2, 3)),
    "einsum": lambda t: ("ij,jk->ik", [t(3, 3), t(3, 3)]),
    "linear": lambda t: (t(2, 3), t(4, 3), t(4)),
    "mv": lambda t: (t(3, 3), t(3)),
    "scaled_dot_product_attention": lambda t: (t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
    "tensordot": lambda t: (t(3, 3), t(3, 3), [1], [0]),
    # layers
    "conv1d": lambda t: (t(1, 2, 6), t(3, 2, 3), t(3)),
    "conv2d": lambda t: (t(1, 2, 6, 6), t(3, 2, 3, 3), t(3)),
    "conv3d": lambda t: (t(1, 2, 4, 4, 4), t(3, 2, 3, 3, 3), t(3)),
    "conv_tbc": lambda t: (t(6, 1, 2), t(3, 2, 3), t(3)),
    "conv_transpose1d": lambda t: (t(1, 2, 6), t(2, 3, 3), t(3)),
    "conv_transpose2d.input": lambda t: (t(1, 2, 6, 6), t(2, 3, 3, 3), t(3)),
    "conv_transpose3d.input": lambda t: (t(1, 2, 4, 4, 4), t(2, 3, 3, 3, 3), t(3)),
    "convolution": lambda t: (t(1, 2, 6), t(3, 2, 3), t(3), *_NO_PADDING),
    "_convolution": lambda t: (t(1, 2, 6), t(3, 2, 3), t(3), *_NO_PADDING, False, False, False, False),
    "_convolution.deprecated": lambda t: (t(1, 2, 6), t(3, 2, 3), t(3), *_NO_PADDING, False, False, False),
    "group_norm": lambda t: (t(2, 4), 2, t(4), t(4)),
    "gru_cell": _cell(_GRU_WEIGHTS),
    "layer_norm": lambda t: (t(2, 4), [4], t(4), t(4)),
    "lstm_cell": lambda t: (t(2, 3), [t(2, 4), t(2, 4)], *(t(*size) for size in _LSTM_WEIGHTS)),
    "native_layer_norm": lambda t: (t(2, 4), [4], t(4), t(4), 1e-5),
    "prelu": lambda t: (t(2, 3), t(3)),
    "rms_norm": lambda t: (t(2, 4), [4], t(4)),
    **_same("rnn_relu_cell rnn_tanh_cell", _cell(_RNN_WEIGHTS)),
    **_same("upsample_nearest1d _upsample_nearest_exact1d", lambda t: (t(1, 1, 4), [8])),
    **_same("upsample_nearest2d _upsample_nearest_exact2d", lambda t: (t(1, 1, 4, 4), [8, 8])),
    **_same("upsample_nearest3d _upsample_nearest_exact3d", lambda t: (t(1, 1, 4, 4, 4), [8, 8, 8])),
    "upsample_linear1d": lambda t: (t(1, 1, 4), [8], False),
    **_same(
        "upsample_bicubic2d upsample_bilinear2d _upsample_bicubic2d_aa _upsample_bilinear2d_aa",
        lambda t: (t(1, 1, 4, 4), [8, 8], False),
    ),
    "upsample_trilinear3d": lambda t: (t(1, 1, 4, 4, 4), [8, 8, 8], False),
    # losses
    **_same(
        "binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity hinge_embedding_loss huber_loss kl_div"
        " l1_loss mse_loss smooth_l1_loss soft_margin_loss",
        lambda t: (t(2, 3), t(2, 3)),
    ),
    **_same("margin_ranking_loss triplet_margin_loss", lambda t: (t(2, 3), t(2, 3), t(2, 3))),
    **_same("multi_margin_loss nll_loss", lambda t: (t(2, 3), t.classes(2))),
    "cosine_embedding_loss": lambda t: (t(2, 3), t(2, 3), t(2)),
    "multilabel_margin_loss": lambda t: (t(2, 3), t.classes(2, 3)),
    "nll_loss2d": lambda t: (t(2, 3, 2, 2), t.classes(2, 2, 2)),
    "poisson_nll_loss": lambda t: (t(3), t(3), True, False, 1e-8, 1),
    # by index
    "grid_sampler": lambda t: (t(1, 1, 4, 4), t(1, 2, 2, 2), 0, 0, False),
    "index_put": lambda t: (t(4), [t.classes(2)], t(2)),
    "scatter_add": lambda t: (t(4), 0, t.classes(2), t(2)),
}
"""The arguments of a call, by overload."""
