"""CUDA's autocast on CPU tensors, for what torch opens by itself: plain regions and scalers, recomputation, custom functions."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the emulation needs torch: pip install 'amplint[verify]'")

from emulation import BFLOAT, HALF, SINGLE, F, doubled  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from amplint.runtime.emulation import cuda_autocast  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="what a machine without a GPU says"),
]

# -- regions -----------------------------------------------------------------------------------------------------------

PLAIN = {
    "torch.autocast": lambda **how: torch.autocast("cuda", **how),
    "torch.amp.autocast": lambda **how: torch.amp.autocast(device_type="cuda", **how),
    "torch.cuda.amp.autocast": lambda **how: torch.cuda.amp.autocast(**how),
}


@pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=str)
@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_region_is_on(emulated: None, name: str, dtype: Any) -> None:
    x = torch.rand(3, 3)
    with PLAIN[name](dtype=dtype):
        product = x @ x
        with PLAIN[name](enabled=False):
            assert (x @ x).dtype is SINGLE
        assert (product.dtype, product.exp().dtype) == (dtype, SINGLE)
    assert (x @ x).dtype is SINGLE


def test_a_plain_region_decorates(emulated: None) -> None:
    @torch.autocast("cuda", dtype=HALF)  # type: ignore[untyped-decorator]
    def product(x: Any) -> Any:
        return x @ x

    assert product(torch.rand(3, 3)).dtype is HALF


def _weights_seen(plain: AbstractContextManager[Any], again: AbstractContextManager[Any]) -> Iterator[float]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    with plain:
        yield F.linear(x, w).item()
        doubled(w)
        yield F.linear(x, w).item()
        torch.clear_autocast_cache()
        yield F.linear(x, w).item()
        doubled(w)
    with again:
        yield F.linear(x, w).item()


def test_a_plain_region_keeps_cast_weights_until_it_ends_or_the_program_has_them_forgotten(emulated: None) -> None:
    regions = torch.autocast("cuda", dtype=HALF), torch.autocast("cuda", dtype=HALF)
    assert list(_weights_seen(*regions)) == [2.0, 2.0, 4.0, 8.0]


def test_a_region_of_another_device_around_it_keeps_the_weights(emulated: None) -> None:
    """As torch's own cache, which goes by the outermost region of all devices."""
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    seen = []
    with torch.autocast("cpu", enabled=False):
        for _ in range(2):
            with torch.autocast("cuda", dtype=HALF):
                seen.append(F.linear(x, w).item())
            doubled(w)
    assert seen == [2.0, 2.0]


def test_a_thread_that_does_not_emulate_is_told_that_there_is_no_gpu(emulated: None) -> None:
    told: list[Any] = []

    def ask() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            region, scaler = torch.autocast("cuda"), torch.amp.GradScaler("cuda")
        told.extend([region._enabled, scaler.is_enabled(), len(caught), torch.cuda.is_bf16_supported()])

    other = threading.Thread(target=ask)
    other.start()
    other.join(60)
    assert told == [False, False, 2, False]


def test_afterwards_torch_is_as_it_was() -> None:
    def held() -> list[Any]:
        common, mode = torch.cuda.amp.common, torch.amp.autocast_mode
        return [
            common.amp_definitely_not_available,
            torch.cuda.is_bf16_supported,
            torch.clear_autocast_cache,
            mode._cast,
        ]

    before = held()
    with cuda_autocast.cuda_autocast():
        assert all(one is not other for one, other in zip(held(), before))
    assert held() == before
    with pytest.warns(UserWarning, match="not available"):
        assert not torch.autocast("cuda")._enabled


# -- scalers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: torch.amp.GradScaler("cuda"), lambda: torch.cuda.amp.GradScaler()])
def test_a_scaler_for_cuda_scales_steps_and_skips(emulated: None, make: Any) -> None:
    w = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([w], lr=0.5), make()
    seen = []
    for factor in (1.0, float("inf")):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((w.tolist(), scaler.get_scale()))
    assert seen == [([0.5, 0.5], 65536.0), ([0.5, 0.5], 32768.0)]


# -- recomputation -----------------------------------------------------------------------------------------------------


class _Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        hidden = self.first(x)
        self.seen.append(hidden.dtype)
        return self.second(hidden).softmax(-1)


def _gradients(how: dict[str, Any] | None, inside: bool, dtype: Any) -> tuple[list[Any], list[Any]]:
    """The gradients of a block, and in which precision its first layer answered, with recomputation or without."""
    block, x = _Block(), torch.linspace(-1, 1, 8).reshape(2, 4).requires_grad_()
    with torch.autocast("cuda", dtype=dtype):
        result = block(x) if how is None else checkpoint(block, x, **how)
        if inside:
            result.square().sum().backward()
    if not inside:
        result.square().sum().backward()
    return [x.grad, *(parameter.grad for parameter in block.parameters())], block.seen


@pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=str)
@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "not reentrant"])
def test_what_is_recomputed_is_recomputed_in_the_precision_of_the_region(
    emulated: None, reentrant: bool, inside: bool, dtype: Any
) -> None:
    plain, _ = _gradients(None, inside, dtype)
    recomputed, seen = _gradients({"use_reentrant": reentrant}, inside, dtype)
    assert seen == [dtype, dtype]
    assert all(torch.equal(one, other) for one, other in zip(plain, recomputed, strict=True))


# -- functions of one's own --------------------------------------------------------------------------------------------


def _product(seen: list[Any], **how: Any) -> Any:
    """A function that says in which precision its operands came, and its products ran, forward and backward."""

    class Product(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", **how)  # type: ignore[untyped-decorator]
        def forward(ctx: Any, x: Any, w: Any, pair: Any) -> Any:
            ctx.save_for_backward(x, w)
            result = x @ w
            seen.append((x.dtype, pair[0].dtype, result.dtype))
            return result

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")  # type: ignore[untyped-decorator]
        def backward(ctx: Any, gradient: Any) -> Any:
            x, w = ctx.saved_tensors
            result = gradient.to(SINGLE) @ w.to(SINGLE).t()
            seen.append(result.dtype)
            return result.to(x.dtype), None, None

    return Product


@pytest.mark.parametrize("cast_inputs", [SINGLE, HALF, BFLOAT], ids=str)
def test_cast_inputs_casts_and_switches_autocast_off(emulated: None, cast_inputs: Any) -> None:
    seen: list[Any] = []
    function = _product(seen, cast_inputs=cast_inputs)
    x = torch.rand(3, 3, requires_grad=True)
    with torch.autocast("cuda", dtype=HALF):
        result = function.apply(x, torch.rand(3, 3).half(), (torch.rand(1).half(),))
    result.float().sum().backward()
    assert seen == [(cast_inputs, cast_inputs, cast_inputs), SINGLE]
    assert x.grad.dtype is SINGLE


def test_without_cast_inputs_both_passes_run_in_the_region(emulated: None) -> None:
    seen: list[Any] = []
    function = _product(seen)
    with torch.autocast("cuda", dtype=BFLOAT):
        result = function.apply(torch.rand(3, 3, requires_grad=True), torch.rand(3, 3), (torch.rand(1),))
    result.sum().backward()
    assert seen == [(SINGLE, SINGLE, BFLOAT), BFLOAT]


def test_outside_of_regions_nothing_is_cast(emulated: None) -> None:
    seen: list[Any] = []
    function = _product(seen, cast_inputs=HALF)
    function.apply(torch.rand(3, 3, requires_grad=True), torch.rand(3, 3), (torch.rand(1),)).sum().backward()
    assert seen == [(SINGLE, SINGLE, SINGLE), SINGLE]
