"""CUDA's autocast on CPU tensors: values, gradients, and the cache of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the emulation needs torch: pip install 'amplint[verify]'")

from emulation import BFLOAT, HALF, SINGLE, F, doubled, new_weight  # noqa: E402

from amplint.runtime.emulation import cuda_autocast  # noqa: E402

# -- values and gradients ----------------------------------------------------------------------------------------------


BY_HAND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "linear": (lambda w: F.linear(w, w), lambda w: F.linear(w.half(), w.half())),
    "matmul of an exp": (lambda w: w.exp() @ w, lambda w: w.exp().half() @ w.half()),
    "softmax of a product": (lambda w: (w @ w).softmax(-1), lambda w: (w.half() @ w.half()).softmax(-1, dtype=SINGLE)),
    "norm of a product": (lambda w: (w @ w).norm(), lambda w: (w.half() @ w.half()).norm(dtype=SINGLE)),
    "log of a sigmoid": (lambda w: w.mm(w).sigmoid().log(), lambda w: w.half().mm(w.half()).sigmoid().float().log()),
    "mse of a product": (
        lambda w: F.mse_loss(w @ w, w),
        lambda w: F.mse_loss((w.half() @ w.half()).float(), w),
    ),
    "addcmul": (lambda w: torch.addcmul(w, w @ w, w @ w), lambda w: _addcmul_by_hand(w)),
}


def _addcmul_by_hand(w: Any) -> Any:
    left, right = w.half() @ w.half(), w.half() @ w.half()
    return torch.addcmul(w, left.float(), right.float())


@pytest.mark.parametrize("name", BY_HAND)
def test_values_and_gradients_are_those_of_casts_by_hand(emulated: None, name: str) -> None:
    under_autocast, by_hand = BY_HAND[name]
    ours, theirs = new_weight(4, 4), new_weight(4, 4)
    with cuda_autocast.region(HALF, cache_enabled=False):
        result = under_autocast(ours)
    expected = by_hand(theirs)
    assert result.dtype is expected.dtype
    assert torch.equal(result, expected)
    result.sum().backward()
    expected.sum().backward()
    assert ours.grad.dtype is SINGLE
    assert torch.equal(ours.grad, theirs.grad)


def test_a_gradient_is_narrowed_where_its_operand_was_widened(emulated: None) -> None:
    """1/x of a float16 operand does not fit into float16, though the logarithm itself is taken in float32."""
    p = torch.full((1,), 1e-5, dtype=HALF, requires_grad=True)
    with cuda_autocast.region(HALF):
        loss = p.log()
    loss.backward()
    assert (loss.dtype, loss.isfinite().item()) == (SINGLE, True)
    assert (p.grad.dtype, p.grad.isinf().item()) == (HALF, True)


def test_backward_runs_in_the_dtypes_of_forward(emulated: None) -> None:
    x, w = torch.rand(2, 4), new_weight(3, 4)
    seen: list[Any] = []
    with cuda_autocast.region(BFLOAT):
        y = F.linear(x, w)
        y.register_hook(lambda gradient: seen.append(gradient.dtype))
        loss = F.mse_loss(y, torch.zeros(2, 3))
    loss.backward()
    assert seen == [BFLOAT]
    assert w.grad.dtype is SINGLE
    assert torch.equal(w.grad, w.grad.bfloat16().float())


def test_backward_inside_the_region_recasts_a_float32_island(emulated: None) -> None:
    """The backward products of what was computed in float32 are autocast when backward runs inside."""

    def gradient(inside: bool) -> Any:
        w = new_weight(8, 8)
        with cuda_autocast.region(HALF):
            with cuda_autocast.region(enabled=False):
                loss = (w @ w).square().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        return w.grad

    assert not torch.equal(gradient(inside=True), gradient(inside=False))
    assert torch.allclose(gradient(inside=True), gradient(inside=False), rtol=1e-2)


# -- the cache of weights ----------------------------------------------------------------------------------------------


Open = Callable[..., AbstractContextManager[Any]]


def _one_region(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    with open_region():
        yield F.linear(x, w)
        doubled(w)
        yield F.linear(x, w)
        yield F.linear(x, w.view(1, 2))
        with torch.no_grad():
            yield F.linear(x, w)
        with torch.inference_mode():
            yield F.linear(x, w)
        with open_region(enabled=False):
            yield F.linear(x, w)
        with open_region(cache_enabled=False):
            yield F.linear(x, w)
        with open_region():
            yield F.linear(x, w)
        yield F.linear(x, w)
    with open_region():
        yield F.linear(x, w)


def _first_without_gradient(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    with open_region():
        with torch.no_grad():
            yield F.linear(x, w)
        doubled(w)
        y = F.linear(x, w)
        yield y
    yield torch.autograd.grad(y, w)[0]


def _frozen(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    with open_region():
        yield F.linear(x, w)
        yield F.linear(x, w.requires_grad_(False).mul_(2))
        yield F.linear(x, w.requires_grad_(True))
        w.data = torch.full((1, 2), 5.0)
        yield F.linear(x, w)


def _part_of_a_weight(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 4)[:, :2].requires_grad_()
    with open_region():
        yield F.linear(x, w)
        doubled(w)
        yield F.linear(x, w)


def _half_weight(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, dtype=BFLOAT, requires_grad=True)
    with open_region():
        yield F.linear(x, w)
        doubled(w)
        yield F.linear(x, w)


def _training_in_one_region(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    with open_region():
        for _ in range(3):
            y = F.linear(x, w)
            optimizer.zero_grad()
            (y * y).mean().backward()
            optimizer.step()
            yield y
    yield w


@pytest.mark.parametrize(
    "story",
    [_one_region, _first_without_gradient, _frozen, _part_of_a_weight, _half_weight, _training_in_one_region],
    ids=lambda story: story.__name__.strip("_"),
)
def test_weights_are_cached_as_torch_caches_them(story: Callable[[Open], Iterator[Any]]) -> None:
    """Torch's cache is the same for all devices, so that of the CPU is the measure."""

    def on_cpu(**how: Any) -> AbstractContextManager[Any]:
        region: AbstractContextManager[Any] = torch.autocast("cpu", dtype=BFLOAT, **how)
        return region

    def ours(**how: Any) -> AbstractContextManager[Any]:
        region: AbstractContextManager[Any] = cuda_autocast.region(BFLOAT, **how)
        return region

    expected = [(y.dtype, y.tolist(), y.requires_grad) for y in story(on_cpu)]
    with cuda_autocast.cuda_autocast():
        seen = [(y.dtype, y.tolist(), y.requires_grad) for y in story(ours)]
    assert seen == expected
