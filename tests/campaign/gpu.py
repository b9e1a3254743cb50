"""A machine that looks to PyTorch as if it had a GPU: programs written for CUDA run on it as they stand, on CPU tensors.

The operations are those of a CPU under CUDA's autocast table (`amplint.runtime.emulation.cuda_autocast`), so that every
dtype is the one that a GPU would give. Nothing of `torch.autocast` and `GradScaler` is replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from amplint.runtime.emulation.cuda_autocast import cuda_autocast
from amplint.runtime.recording.patches import Patches

GROWTH_INTERVAL = 2
"""After how many steps in a row a scaler doubles its scale, so that it grows within a run; it is 2000 by default."""


@contextmanager
def as_on_a_gpu() -> Iterator[Patches]:
    """Let CUDA's autocast, and scalers for CUDA, work in this thread. The patches are taken back at the end."""
    patches = Patches()
    defaults = torch.amp.GradScaler.__init__.__defaults__
    try:
        torch.amp.GradScaler.__init__.__defaults__ = tuple(
            GROWTH_INTERVAL if value == 2000 else value for value in defaults or ()
        )
        with cuda_autocast(), warnings.catch_warnings():
            yield patches
    finally:
        torch.amp.GradScaler.__init__.__defaults__ = defaults
        patches.undo()
        torch.set_autocast_enabled("cuda", False)  # whatever the program has left behind
        torch.clear_autocast_cache()
