"""Names of PyTorch's AMP interface: where they live, what else they are called.

Source: `torch/amp/`, `torch/cuda/amp/` and `torch/cpu/amp/` of PyTorch 2.13, compared with 1.13 to 2.14.
"""

from __future__ import annotations

_SUBMODULES = {
    "torch.cuda.amp.autocast_mode": "torch.cuda.amp",
    "torch.cuda.amp.grad_scaler": "torch.cuda.amp",
    "torch.cpu.amp.autocast_mode": "torch.cpu.amp",
    "torch.cpu.amp.grad_scaler": "torch.cpu.amp",
    "torch.amp.autocast_mode": "torch.amp",
    "torch.amp.grad_scaler": "torch.amp",
    "torch.nn.utils.clip_grad": "torch.nn.utils",
    "torch.nn.functional": "torch.nn.functional",
    "torch.nn.modules.linear": "torch.nn",
    "torch.nn.modules.container": "torch.nn",
    "torch.nn.modules.loss": "torch.nn",
}

_KNOWN = frozenset(
    f"{module}.{name}"
    for module, names in {
        "torch.cuda.amp": "autocast GradScaler custom_fwd custom_bwd amp_definitely_not_available",
        "torch.cpu.amp": "autocast GradScaler",
        "torch.amp": "autocast GradScaler custom_fwd custom_bwd is_autocast_available",
        "torch": "autocast GradScaler float16 half bfloat16 float32 float float64 no_grad inference_mode cuda cpu amp nn optim",
        "torch.nn.utils": "clip_grad_norm_ clip_grad_value_ clip_grad_norm get_total_norm clip_grads_with_norm_",
        "torch.nn": "Linear Sequential Module functional utils",
        "torch.optim": "SGD Adam AdamW RMSprop Adagrad lr_scheduler LBFGS",
    }.items()
    for name in names.split()
)

AUTOCAST_GENERIC = frozenset({"torch.autocast", "torch.amp.autocast"})
AUTOCAST_DEVICE = {"torch.cuda.amp.autocast": "cuda", "torch.cpu.amp.autocast": "cpu"}
AUTOCAST = AUTOCAST_GENERIC | frozenset(AUTOCAST_DEVICE)
GRAD_SCALER_GENERIC = frozenset({"torch.GradScaler", "torch.amp.GradScaler"})
GRAD_SCALER_DEVICE = {"torch.cuda.amp.GradScaler": "cuda", "torch.cpu.amp.GradScaler": "cpu"}
GRAD_SCALER = GRAD_SCALER_GENERIC | frozenset(GRAD_SCALER_DEVICE)


def canonical(name: str) -> str:
    """The public spelling of a qualified name: `torch.cuda.amp.grad_scaler.GradScaler` is `torch.cuda.amp.GradScaler`."""
    head, _, tail = name.rpartition(".")
    return f"{_SUBMODULES[head]}.{tail}" if head in _SUBMODULES else name


def is_known(name: str) -> bool:
    """Whether a star import of the module would bring this name, as far as amplint cares."""
    return canonical(name) in _KNOWN
