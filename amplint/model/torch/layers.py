"""Layers of `torch.nn`: which operation each one runs, and what wraps modules or gives them back."""

from __future__ import annotations

LAYERS = {
    **dict.fromkeys("Linear LazyLinear Bilinear".split(), "linear"),
    **{f"{lazy}Conv{rank}d": f"conv{rank}d" for rank in (1, 2, 3) for lazy in ("", "Lazy")},
    **{f"{lazy}ConvTranspose{rank}d": f"conv_transpose{rank}d" for rank in (1, 2, 3) for lazy in ("", "Lazy")},
    **{f"{kind}{rank}d": "batch_norm" for kind in ("BatchNorm", "LazyBatchNorm") for rank in (1, 2, 3)},
    **{f"{kind}{rank}d": "instance_norm" for kind in ("InstanceNorm", "LazyInstanceNorm") for rank in (1, 2, 3)},
    **{f"{kind}Pool{rank}d": f"{name}_pool{rank}d" for rank in (1, 2, 3) for kind, name in (
        ("Max", "max"), ("Avg", "avg"), ("AdaptiveAvg", "adaptive_avg"), ("AdaptiveMax", "adaptive_max"))},
    **dict.fromkeys("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout".split(), "dropout"),
    "SyncBatchNorm": "batch_norm", "LayerNorm": "layer_norm", "GroupNorm": "group_norm", "RMSNorm": "rms_norm",
    "CELU": "celu", "Hardtanh": "hardtanh", "Hardswish": "hardswish",
    "ReLU": "relu", "ReLU6": "relu6", "LeakyReLU": "leaky_relu", "ELU": "elu", "SELU": "selu", "GELU": "gelu",
    "SiLU": "silu", "Mish": "mish", "PReLU": "prelu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Hardsigmoid": "hardsigmoid",
    "Softplus": "softplus", "Softmax": "softmax", "Softmax2d": "softmax", "Softmin": "softmin", "LogSoftmax": "log_softmax",
    "LogSigmoid": "logsigmoid", "Identity": "identity", "Flatten": "flatten", "Unflatten": "unflatten",
    "PixelShuffle": "pixel_shuffle", "Upsample": "upsample", "Embedding": "embedding",
    "CosineSimilarity": "cosine_similarity", "PairwiseDistance": "pairwise_distance",
    "CrossEntropyLoss": "cross_entropy", "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss", "KLDivLoss": "kl_div", "NLLLoss": "nll_loss",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits", "BCELoss": "binary_cross_entropy",
    "TripletMarginLoss": "triplet_margin_loss", "MarginRankingLoss": "margin_ranking_loss",
    "PoissonNLLLoss": "poisson_nll_loss", "HingeEmbeddingLoss": "hinge_embedding_loss",
    "SoftMarginLoss": "soft_margin_loss", "MultiMarginLoss": "multi_margin_loss",
    "MultiLabelMarginLoss": "multilabel_margin_loss", "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss", "GaussianNLLLoss": "gaussian_nll_loss", "Softsign": "softsign",
}  # fmt: skip
"""The operation that a layer of `torch.nn` runs, by class name."""

RECURRENT = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}
"""Layers that give back a pair of an output and a state."""

ATTENTION = {"MultiheadAttention": "multi_head_attention"}

WRAPPERS = frozenset({
    "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile", "torch.jit.script",
    "torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrizations.spectral_norm", "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
})  # fmt: skip
"""Functions and classes that give back the module they are given, as far as precision goes."""

SAME_MODULE = frozenset("to cuda cpu train eval requires_grad_ apply share_memory xpu compile".split())
"""Methods of a module that give back the module."""
WRAPPED = frozenset({"module", "_orig_mod"})
"""Attributes of wrappers under which they keep the module."""

ALIKE = {
    **dict.fromkeys((
        "timm.layers.DropPath", "timm.layers.drop.DropPath", "timm.models.layers.DropPath", "timm.models.layers.drop.DropPath",
        "torchvision.ops.StochasticDepth",
    ), "torch.nn.Dropout"),
    "einops.layers.torch.Rearrange": "torch.nn.Flatten", "einops.rearrange": "torch.reshape", "einops.repeat": "torch.repeat",
    "einops.einsum": "torch.einsum",
    # The product with the filter bank comes last.
    **dict.fromkeys(("torchaudio.transforms.MelSpectrogram", "torchaudio.transforms.MelScale"), "torch.nn.Linear"),
}  # fmt: skip
"""Functions and layers of other libraries, and those of torch that treat dtypes alike."""


def is_called(meaning: str) -> bool:
    """Whether a full name is that of a layer, or of a function of `torch.nn.functional`, or of something alike."""
    module, _, name = meaning.rpartition(".")
    return meaning in ALIKE or module == "torch.nn.functional" or (module == "torch.nn" and name in LAYERS)
