"""The dtype flow through modules of `torch.nn` that are more than one operation, and through what wraps modules."""

from __future__ import annotations

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
