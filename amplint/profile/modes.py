"""What a program is run as. Imports no torch."""

from __future__ import annotations

from amplint.runtime.device_names import CPU, CUDA

FLOAT32, TF32, FLOAT16, BFLOAT16 = "float32", "tf32", "float16", "bfloat16"
MODES = (FLOAT32, TF32, FLOAT16, BFLOAT16)
HALF = (FLOAT16, BFLOAT16)

ROUNDS = 3
"""Turns of each mode, each with another seed: float32 is compared with itself in two of them."""


def usual_modes(device: str, has_tf32: bool) -> tuple[str, ...]:
    """The modes that a device is worth trying in, float32 first.

    Args:
        device: `cuda`, `cuda-emulated` or `cpu`.
        has_tf32: whether its tensor cores compute in TF32.
    """
    if device == CPU:
        return (FLOAT32, BFLOAT16)
    return (FLOAT32, TF32, *HALF) if device == CUDA and has_tf32 else (FLOAT32, *HALF)
