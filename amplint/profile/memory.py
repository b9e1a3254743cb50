"""What a program holds in memory: on a GPU what PyTorch has allocated there, elsewhere the resident set of the process."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import torch

from amplint.runtime.device_names import CUDA

_SELF = Path("/proc/self")
_RESET_PEAK = "5"
"""What Linux is told to forget the largest resident set there was."""


def forget_peak(device: str) -> None:
    """From now on, `peak` speaks of what is held later."""
    if device == CUDA:
        torch.cuda.reset_peak_memory_stats()
        return
    try:
        (_SELF / "clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return


def peak(device: str) -> int | None:
    """The most bytes that were held; None where that cannot be told."""
    return int(torch.cuda.max_memory_allocated()) if device == CUDA else _resident("VmHWM:")


def resting(device: str) -> int | None:
    """The bytes that are held now; None where that cannot be told."""
    return int(torch.cuda.memory_allocated()) if device == CUDA else _resident("VmRSS:")


def capacity(device: str) -> int | None:
    """The bytes that the GPU has; None without one."""
    return int(torch.cuda.mem_get_info()[1]) if device == CUDA else None


def _resident(name: str) -> int | None:
    try:
        lines = (_SELF / "status").read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), None)


class KeptForBackward:
    """Counts the bytes that autograd keeps for the backward pass.

    Attributes:
        most: the most bytes that were kept at once.

    Args:
        parameters: their own bytes do not count, for they are there in any case.
    """

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        self.most = 0
        self._elsewhere = {0, *(int(one.untyped_storage().data_ptr()) for one in parameters)}
        self._now = 0
        self._users: dict[int, int] = {}
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda kept: kept.tensor)

    def __enter__(self) -> None:
        self._hooks.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hooks.__exit__(kind, error, trace)

    def _pack(self, tensor: torch.Tensor) -> _Kept:
        return _Kept(tensor, self)

    def take(self, tensor: torch.Tensor) -> int:
        """Count a tensor that is kept, unless another one has the same memory; the number of that memory, 0 for none."""
        if tensor.layout != torch.strided:
            return 0
        storage = tensor.untyped_storage()
        address = int(storage.data_ptr())
        if address in self._elsewhere:
            return 0
        if not self._users.get(address):
            self._now += int(storage.nbytes())
            self.most = max(self.most, self._now)
        self._users[address] = self._users.get(address, 0) + 1
        return address

    def drop(self, address: int, tensor: torch.Tensor) -> None:
        """A tensor is kept no more.

        Args:
            address: the number of its memory.
            tensor: what was kept.
        """
        if not address:
            return
        self._users[address] -= 1
        if not self._users[address]:
            self._now -= int(tensor.untyped_storage().nbytes())


class _Kept:
    """A tensor in the hands of autograd."""

    def __init__(self, tensor: torch.Tensor, count: KeptForBackward) -> None:
        self._address = count.take(tensor)
        self.tensor = tensor.detach()
        self._count = count

    def __del__(self) -> None:
        self._count.drop(self._address, self.tensor)
