"""A program's own regions, scalers and seeds, set from outside."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("torch", reason="profiling needs torch: pip install 'amplint[trace]'")

import torch

from amplint.profile.memory import KeptForBackward
from amplint.profile.steering import Steering
from amplint.runtime.recording.patches import Patches


@contextmanager
def steered(mode: str, wakes: bool = False, shift: int = 0) -> Iterator[Steering]:
    patches = Patches()
    steering = Steering(mode, "cpu", shift, wakes, lambda: None)
    try:
        steering.install(patches)
        yield steering
    finally:
        patches.undo()


def product() -> torch.dtype:
    """The dtype that a matrix product has here."""
    one = torch.ones(2, 2)
    dtype: torch.dtype = (one @ one).dtype
    return dtype


@pytest.mark.parametrize(
    ("mode", "dtype"), [("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)]
)
def test_every_region_has_the_precision_of_the_mode(mode: str, dtype: torch.dtype) -> None:
    decorated = torch.autocast("cpu", dtype=torch.float16)(product)
    with steered(mode) as steering:
        again = torch.autocast("cpu", dtype=torch.bfloat16)
        seen = []
        for _ in range(2):
            with again:
                seen.append(product())
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=True):
            seen.append(product())
            with torch.autocast("cpu", enabled=False):
                assert product() is torch.float32
        assert seen == [dtype] * 3
        assert (steering.entered, steering.enabled) == (4, 3)
    assert decorated() is torch.float16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product() is torch.bfloat16


def test_regions_that_are_off_are_switched_on_where_all_are() -> None:
    with steered("bfloat16", wakes=True), torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
        assert product() is torch.bfloat16
    with steered("bfloat16"), torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
        assert product() is torch.float32


def test_a_recomputation_keeps_the_region_of_its_forward_pass() -> None:
    from torch.utils.checkpoint import checkpoint

    seen = []

    def part(x: torch.Tensor) -> torch.Tensor:
        seen.append(product())
        return x @ x

    x = torch.ones(2, 2, requires_grad=True)
    with steered("bfloat16"):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = checkpoint(part, x, use_reentrant=False).sum()
        loss.backward()
    assert seen == [torch.bfloat16] * 2


def test_scalers_are_on_in_float16_alone() -> None:
    for mode in ("float32", "float16", "bfloat16"):
        with steered(mode) as steering:
            scalers = torch.amp.GradScaler("cuda", enabled=False), torch.amp.GradScaler("cpu", init_scale=8.0)
        assert [one.is_enabled() for one in scalers] == [mode == "float16"] * 2
        assert steering.scalers == 2
        assert mode != "float16" or scalers[1].get_scale() == 8.0


def test_seeds_are_other_seeds_in_another_round() -> None:
    import torch._dynamo  # gives `torch.manual_seed` a wrapper, which remembers on the function what it has called

    torch.manual_seed(1)
    numbers = []
    for shift in (0, 0, 1):
        with steered("float32", shift=shift):
            random.seed(5)
            torch.manual_seed(seed=5)
            numbers.append((random.random(), float(torch.rand(()))))
    assert numbers[0] == numbers[1]
    assert not set(numbers[0]) & set(numbers[2])


def test_what_autograd_keeps_is_counted_once_and_without_weights() -> None:
    weight = torch.nn.Parameter(torch.ones(64, 64))
    x = torch.ones(8, 64)
    count = KeptForBackward([weight])
    with count:
        y = (x @ weight.t()).relu()
        z = y.exp()
    assert count.most == x.nbytes + y.nbytes + z.nbytes
    z.sum().backward()
    del y, z
    expected = torch.ones_like(weight) * 8 * torch.tensor(64.0).exp()
    assert torch.equal(weight.grad, expected)
