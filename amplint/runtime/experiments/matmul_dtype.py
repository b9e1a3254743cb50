"""In which precision a region computes."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from amplint.model.events import Region
from amplint.runtime.devices import CUDA
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.runtime.training.amp_and_reference import autocast


def product_dtype(region: Region | None, device: str) -> str:
    """The precision that a product of float32 matrices gets in a region, or outside of any.

    Args:
        region: the region; None for none.
        device: one of `amplint.runtime.devices`.
    """
    square = torch.ones(8, 8, device="cuda" if device == CUDA else "cpu")
    with autocast(region, device, True) if region is not None else nullcontext():
        return dtype_name((square @ square).dtype)
