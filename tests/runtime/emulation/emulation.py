"""What tests of the emulated autocast have in common."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the emulation needs torch: pip install 'amplint[verify]'")


from amplint.runtime.emulation.cuda_table import registered_overloads, runs_on_cpu  # noqa: E402

F = torch.nn.functional

HALF, BFLOAT, SINGLE, DOUBLE = torch.float16, torch.bfloat16, torch.float32, torch.float64

ON_CPU = [name for name in registered_overloads() if runs_on_cpu(name)]

WITHOUT_FAKES = ("gru_cell", "grid_sampler")
"""These ask for a GPU even on tensors without data. CUDA's autocast still says what arrives behind it."""


def dtypes_of(result: Any) -> list[Any]:
    several = result if isinstance(result, (tuple, list)) else [result]
    return [one.dtype for one in several if one is not None]


def answer(ask: Callable[..., Any], *how: Any) -> Any:
    """What is answered, or how it is refused."""
    try:
        return ask(*how)
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


MIXES = [
    *[(one,) for one in (SINGLE, HALF, BFLOAT, DOUBLE)],
    *itertools.permutations((SINGLE, HALF, BFLOAT), 2),
    *[(DOUBLE, one) for one in (SINGLE, HALF, BFLOAT)],
    *[(one, DOUBLE) for one in (SINGLE, HALF, BFLOAT)],
]


def new_weight(*size: int) -> Any:
    return torch.rand(size, generator=torch.Generator().manual_seed(len(size)), requires_grad=True)


def doubled(w: Any) -> None:
    with torch.no_grad():
        w.mul_(2)
