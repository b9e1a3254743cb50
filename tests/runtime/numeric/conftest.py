"""What all replays of numbers stand on."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # the order of sums decides the last digits
