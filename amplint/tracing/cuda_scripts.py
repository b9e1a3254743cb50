"""A GPU that is not there: what a script puts on CUDA stays on the CPU, and meets CUDA's autocast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from amplint.runtime.device_names import CPU, EMULATED
from amplint.runtime.emulation.cuda_autocast import cuda_autocast
from amplint.runtime.recording.call_sites import in_torch
from amplint.runtime.recording.patches import Patches
from amplint.tracing.cuda_answers import ACCELERATOR, CUDA

_NO_GPU = " (the program asks for a GPU: try --device cuda-emulated, or a machine with one)"
_NOT_EMULATED = " (more than cuda-emulated has of a GPU: try --device cpu, or a machine with one)"
_REFUSALS = ("Torch not compiled with CUDA", "Found no NVIDIA driver", "CUDA error", "_cuda_", "dummy base class")
_MOVES = frozenset({torch.Tensor.to, torch.nn.Module.to})


class _OnTheCpu(TorchFunctionMode):  # type: ignore[misc]
    """Whatever names CUDA as a device gets the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if kwargs.get("device") is not None:
            kwargs["device"] = _cpu(kwargs["device"])
        if func in _MOVES:
            args = args[:1] + tuple(_cpu(one) for one in args[1:])
        return func(*args, **kwargs)


def _cpu(value: Any) -> Any:
    """The device that is meant; a number is that of a GPU."""
    if isinstance(value, int) and not isinstance(value, bool):
        return torch.device("cpu")
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


@contextmanager
def cuda_on_cpu() -> Iterator[None]:
    """Let a program believe in a GPU: its tensors stay on the CPU, with CUDA's dtypes."""
    patches = Patches()
    try:
        _stay(patches)
        _answer(patches)
        if torch.distributed.is_available():
            _with_gloo(patches)
        with cuda_autocast(), _OnTheCpu():
            yield
    finally:
        patches.undo()


def _stay(patches: Patches) -> None:
    """Keep on the CPU what does not meet the mode."""
    default = torch.set_default_device
    patches.attribute(torch, "set_default_device", lambda device: default(_cpu(device)))
    patches.attribute(torch, "Generator", _generator(torch.Generator))
    patches.attribute(torch, "load", _loaded(torch.load))
    patches.attribute(torch.Tensor, "record_stream", lambda tensor, stream: None)
    patches.attribute(torch.nn.Module, "cuda", lambda module, device=None: module)
    patches.attribute(torch.nn.Module, "to", _moved(torch.nn.Module.to))
    patches.attribute(torch.nn.DataParallel, "forward", lambda model, *args, **kwargs: model.module(*args, **kwargs))


def _answer(patches: Patches) -> None:
    """Answer what scripts ask; what a version of torch lacks, no script of that version asks for."""
    accelerator = getattr(torch, "accelerator", None)
    for name in filter(partial(hasattr, torch.cuda), CUDA):
        patches.attribute(torch.cuda, name, CUDA[name])
    for name in filter(partial(hasattr, accelerator), ACCELERATOR):
        patches.attribute(accelerator, name, _to_scripts(getattr(accelerator, name), ACCELERATOR[name]))


def _with_gloo(patches: Patches) -> None:
    """Let processes that would train on a GPU each talk to each other from the CPU."""
    from torch.nn.parallel import DistributedDataParallel

    start, wrap = torch.distributed.init_process_group, DistributedDataParallel.__init__

    def started(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("device_id", None)
        start("gloo" if backend is None or "nccl" in backend else backend, *args, **kwargs)

    def wrapped(
        model: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **more: Any
    ) -> None:
        wrap(model, module, None, None, *args, **more)

    patches.attribute(torch.distributed, "init_process_group", started)
    patches.attribute(DistributedDataParallel, "__init__", wrapped)


def _to_scripts(original: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    def asked(*args: Any, **kwargs: Any) -> Any:
        return (original if in_torch(sys._getframe(1)) else answer)(*args, **kwargs)

    return asked


def _moved(to: Callable[..., Any]) -> Callable[..., Any]:
    """`Module.to`, to wherever a CPU is meant."""

    def moved(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is not None:
            kwargs["device"] = _cpu(kwargs["device"])
        return to(module, *map(_cpu, args), **kwargs)

    return moved


def _generator(base: type) -> type:
    """A class of generators that are made for a GPU as for the CPU; all generators are of it."""

    class Kind(type(base)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, base)

        def __call__(cls, device: Any = "cpu") -> Any:
            return base(_cpu(device))

    return Kind(base.__name__, (), {})


def _loaded(load: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.load`, of files that a GPU has written, too."""

    def loaded(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return load(file, "meta" if str(map_location) == "meta" else "cpu", *args, **kwargs)

    return loaded


def refusal_of(error: str, device: str) -> str:
    """Why a program has failed without a GPU, in words; empty where its failure is another one.

    Args:
        error: what it has raised.
        device: `cuda`, `cuda-emulated` or `cpu`: what it ran on.
    """
    if not any(one in error for one in _REFUSALS):
        return ""
    return {EMULATED: _NOT_EMULATED, CPU: _NO_GPU}.get(device, "")
