"""Names of PyTorch's AMP interface: where they live, what else they are called.

Source: `torch/amp/`, `torch/cuda/amp/` and `torch/cpu/amp/` of PyTorch 2.13, compared with 1.13 to 2.14.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.model.records import frozen

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

_HANDED_ON = frozenset({"autocast", "GradScaler", "custom_fwd", "custom_bwd", "clip_grad_norm_", "clip_grad_value_"})

AUTOCAST_GENERIC = frozenset({"torch.autocast", "torch.amp.autocast"})
AUTOCAST_DEVICE = {"torch.cuda.amp.autocast": "cuda", "torch.cpu.amp.autocast": "cpu"}
AUTOCAST = AUTOCAST_GENERIC | frozenset(AUTOCAST_DEVICE)
GRAD_SCALER_GENERIC = frozenset({"torch.GradScaler", "torch.amp.GradScaler"})
GRAD_SCALER_DEVICE = {"torch.cuda.amp.GradScaler": "cuda", "torch.cpu.amp.GradScaler": "cpu"}
GRAD_SCALER = GRAD_SCALER_GENERIC | frozenset(GRAD_SCALER_DEVICE)
CUSTOM_FWD = frozenset({"torch.amp.custom_fwd", "torch.cuda.amp.custom_fwd"})
CUSTOM_BWD = frozenset({"torch.amp.custom_bwd", "torch.cuda.amp.custom_bwd"})
SCALER_CLASSES = GRAD_SCALER | {
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
    "torch.distributed.fsdp.ShardedGradScaler",
    "fairscale.optim.grad_scaler.ShardedGradScaler",
}
SHARDED_MODELS = frozenset({
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
})  # fmt: skip
"""Wrappers of which each process has a part of the gradients, so that it needs a `ShardedGradScaler`, which asks all of them."""
SCHEDULER_CLASSES = "torch.optim.lr_scheduler."
"""What the names of torch's schedulers of the learning rate begin with."""
SCHEDULER_MAKERS = (
    SCHEDULER_CLASSES, "transformers.get_", "transformers.optimization.get_", "diffusers.optimization.get_",
)  # fmt: skip
"""What the names of schedulers of the learning rate, and of functions that make them, begin with."""
NOT_PER_STEP = frozenset({"torch.optim.lr_scheduler.ReduceLROnPlateau"})
"""Schedulers of the learning rate that are not called for each step."""
CLIPS = {
    "torch.nn.utils.clip_grad_norm_": "norm",
    "torch.nn.utils.clip_grad_norm": "norm",
    "torch.nn.utils.clip_grad_value_": "value",
    "torch.nn.utils.clip_grads_with_norm_": "norm",
}
"""The functions that clip gradients, and by what."""


def canonical(name: str) -> str:
    """The public spelling of a qualified name: `torch.cuda.amp.grad_scaler.GradScaler` is `torch.cuda.amp.GradScaler`."""
    head, _, tail = name.rpartition(".")
    return f"{_SUBMODULES[head]}.{tail}" if head in _SUBMODULES else name


def may_be_handed_on(name: str) -> bool:
    """Whether a qualified name outside of torch ends like one that matters to AMP, which some module may only hand on."""
    head, _, last = name.rpartition(".")
    return last in _HANDED_ON and head.partition(".")[0] not in ("torch", "<local>", "builtins")


def is_known(name: str) -> bool:
    """Whether a star import of the module would bring this name, as far as amplint cares."""
    return canonical(name) in _KNOWN


def star_names(module: str) -> frozenset[str]:
    """What a star import of a module brings, as far as amplint knows."""
    return frozenset(name.rpartition(".")[2] for name in _KNOWN if name.rpartition(".")[0] == module)


AUTOCAST_PARAMETERS = ("device_type", "dtype", "enabled", "cache_enabled")
GRAD_SCALER_PARAMETERS = ("device", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
"""Parameters of `torch.amp.autocast` and `torch.amp.GradScaler`, in order."""

DEPRECATED_SINCE = (2, 4)
"""The release in which `torch.cuda.amp` and `torch.cpu.amp` began to warn."""


@frozen
class Replacement:
    """What a deprecated name of a device's own AMP module is called in `torch.amp`.

    `old` and `new` are the parameters that may be given by position, in order; where `new` does not begin with the device
    type, it is a keyword. `since` is the first release that has the replacement.
    """

    name: str
    device: str
    since: tuple[int, int]
    old: tuple[str, ...]
    new: tuple[str, ...]
    keywords: tuple[str, ...] = ()


def _replacements() -> Iterator[tuple[str, Replacement]]:
    for device in ("cuda", "cpu"):
        old = ("enabled", "dtype", "cache_enabled")
        yield (
            f"torch.{device}.amp.autocast",
            Replacement("torch.amp.autocast", device, (1, 12), old, AUTOCAST_PARAMETERS),
        )
        yield (
            f"torch.{device}.amp.GradScaler",
            Replacement("torch.amp.GradScaler", device, (2, 3), GRAD_SCALER_PARAMETERS[1:], GRAD_SCALER_PARAMETERS),
        )
    yield (
        "torch.cuda.amp.custom_fwd",
        Replacement("torch.amp.custom_fwd", "cuda", (2, 4), ("fwd",), ("fwd",), ("cast_inputs",)),
    )
    yield "torch.cuda.amp.custom_bwd", Replacement("torch.amp.custom_bwd", "cuda", (2, 4), ("bwd",), ("bwd",))


DEPRECATED = dict(_replacements())
"""The deprecated names, and what to say instead."""

SINCE = {
    **dict.fromkeys(("torch.cuda.amp", "torch.cuda.amp.autocast", "torch.cuda.amp.GradScaler"), (1, 6)),
    **dict.fromkeys(("torch.cuda.amp.custom_fwd", "torch.cuda.amp.custom_bwd"), (1, 6)),
    **dict.fromkeys(("torch.autocast", "torch.amp", "torch.amp.autocast", "torch.cpu.amp"), (1, 10)),
    "torch.cpu.amp.autocast": (1, 10),
    "torch.cpu.amp.GradScaler": (2, 3),
    **{new.name: new.since for new in DEPRECATED.values() if not new.name.endswith(".autocast")},
}
"""The first release that has a name."""

DEPRECATED_MODULES = frozenset(name.rpartition(".")[0] for name in DEPRECATED)
