"""CUDA's autocast on CPU tensors: regions, threads, and that nothing is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the emulation needs torch: pip install 'amplint[verify]'")

from emulation import BFLOAT, HALF, SINGLE, F, doubled, new_weight  # noqa: E402

from amplint.runtime.emulation import cuda_autocast, cuda_table  # noqa: E402
from amplint.runtime.emulation.kernels import EMULATION, WITNESS  # noqa: E402

# -- regions -----------------------------------------------------------------------------------------------------------


def test_a_region_is_torchs_own(emulated: None) -> None:
    outside = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    region = cuda_autocast.region(BFLOAT)
    assert isinstance(region, torch.autocast)
    with region:
        assert (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")) == (True, BFLOAT)
        with cuda_autocast.region():
            assert torch.get_autocast_dtype("cuda") is BFLOAT
        with cuda_autocast.region(enabled=False):
            assert not torch.is_autocast_enabled("cuda")
    assert (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")) == outside


def test_regions_nest(emulated: None) -> None:
    x = torch.rand(3, 3)
    dtypes = []
    with cuda_autocast.region(HALF):
        dtypes.append((x @ x).dtype)
        with cuda_autocast.region(enabled=False):
            dtypes.append((x @ x).dtype)
            with cuda_autocast.region(BFLOAT):
                dtypes.append((x @ x).dtype)
        dtypes.append((x @ x).dtype)
        with cuda_autocast.region(SINGLE):
            dtypes.append((x.half() @ x).dtype)
    dtypes.append((x @ x).dtype)
    assert dtypes == [HALF, SINGLE, BFLOAT, HALF, SINGLE, SINGLE]


def test_a_region_decorates(emulated: None) -> None:
    @cuda_autocast.region(HALF)  # type: ignore[untyped-decorator]
    def product(x: Any) -> Any:
        return x @ x

    assert product(torch.rand(3, 3)).dtype is HALF


# -- nothing is left behind --------------------------------------------------------------------------------------------


def _trace() -> list[Any]:
    """All that the emulation touches, and what CPU autocast does."""
    x = torch.full((3, 3), 0.5)
    with torch.autocast("cpu", dtype=BFLOAT):
        on_cpu = [y.dtype for y in (x @ x, (x @ x).exp(), (x @ x).sum(), F.mse_loss(x @ x, x @ x))]
    keys = ["AutocastCPU", "AutocastCUDA", EMULATION, WITNESS]
    return [
        on_cpu,
        [sorted(torch._C._dispatch_get_registrations_for_dispatch_key(key)) for key in keys],
        [torch._C._dispatch_has_backend_fallback(getattr(torch._C.DispatchKey, key)) for key in keys],
        [torch._C._dispatch_tls_is_dispatch_key_included(key) for key in keys],
        [torch._C._dispatch_tls_is_dispatch_key_excluded(key) for key in keys],
        [(torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in ("cuda", "cpu", "hpu")],
        torch.is_autocast_cache_enabled(),
        [(x @ x).dtype, x.half().exp().dtype],
    ]


def test_nothing_is_left_behind() -> None:
    """In a thread that has not emulated before, so that what is left behind cannot have been there already."""

    def work() -> list[Any]:
        seen = [_trace()]
        with cuda_autocast.cuda_autocast(), cuda_autocast.region(BFLOAT, cache_enabled=False):
            seen.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
        return [*seen, _trace()]

    before, inside, after = _in_thread(work)
    assert inside is BFLOAT
    assert after == before


def test_reading_the_table_leaves_nothing_behind() -> None:
    before = _trace()
    assert cuda_table.cuda_table.__wrapped__() == cuda_table.cuda_table()
    assert _trace() == before


def test_nothing_is_left_behind_by_an_exception() -> None:
    before = _trace()
    x = torch.rand(2, 3)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        with cuda_autocast.cuda_autocast(), cuda_autocast.region(HALF):
            with cuda_autocast.region(enabled=False):
                x @ x
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        with cuda_autocast.cuda_autocast(), cuda_autocast.region(HALF):
            x @ x
    assert _trace() == before


def test_an_error_inside_an_operation_does_not_end_the_emulation(emulated: None) -> None:
    x = torch.rand(2, 3)
    with cuda_autocast.region(HALF):
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            x @ x
        assert (x @ x.T).dtype is HALF


def test_emulations_nest() -> None:
    before = _trace()
    x = torch.rand(3, 3)
    with cuda_autocast.cuda_autocast():
        with cuda_autocast.cuda_autocast(), cuda_autocast.region(HALF):
            assert (x @ x).dtype is HALF
        with cuda_autocast.region(HALF):
            assert (x @ x).exp().dtype is SINGLE
    assert _trace() == before


def test_cpu_autocast_stays_what_it_is_beside_a_region(emulated: None) -> None:
    x = torch.rand(3, 3)
    with torch.autocast("cpu", dtype=BFLOAT):
        assert ((x @ x).dtype, (x @ x).exp().dtype) == (BFLOAT, BFLOAT)
        assert F.binary_cross_entropy(x, x).dtype is SINGLE


def test_without_a_region_nothing_changes(emulated: None) -> None:
    x = torch.rand(3, 3)
    assert ((x @ x).dtype, x.half().exp().dtype, x.half().norm().dtype) == (SINGLE, HALF, HALF)


def test_without_the_emulation_a_region_leaves_cpu_tensors_alone() -> None:
    x = torch.rand(3, 3)
    with cuda_autocast.region(HALF):
        assert (x @ x).dtype is SINGLE


# -- threads -----------------------------------------------------------------------------------------------------------


def _in_thread(work: Callable[[], Any]) -> Any:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join(60)
    assert answers, "the thread failed"
    return answers[0]


def test_other_threads_see_nothing_of_it() -> None:
    x = torch.full((3, 3), 0.5)

    def look() -> list[Any]:
        with torch.autocast("cpu", dtype=BFLOAT):
            on_cpu = [y.dtype for y in (x @ x, (x @ x).exp(), F.binary_cross_entropy(x, x))]
        return [on_cpu, (x @ x).dtype, x.half().exp().dtype, torch.is_autocast_enabled("cuda")]

    expected = look()
    with cuda_autocast.cuda_autocast(), cuda_autocast.region(HALF):
        assert _in_thread(look) == expected
        assert (x @ x).dtype is HALF


@pytest.mark.parametrize("first_ends", [True, False])
def test_threads_emulate_at_the_same_time(first_ends: bool) -> None:
    """Each has its own region, and the one that stays is not disturbed by the one that goes."""
    before = _trace()
    x = torch.rand(3, 3)
    both_inside, gone = threading.Barrier(2, timeout=60), threading.Event()

    def emulate_in(dtype: Any, goes: bool) -> list[Any]:
        with cuda_autocast.cuda_autocast(), cuda_autocast.region(dtype):
            both_inside.wait()
            dtypes = [(x @ x).dtype]
            if not goes:
                assert gone.wait(60)
                dtypes.append((x @ x).dtype)
        if goes:
            gone.set()
        return dtypes

    answers: dict[Any, list[Any]] = {}
    threads = [
        threading.Thread(target=lambda one=dtype, goes=goes: answers.update({one: emulate_in(one, goes)}))
        for dtype, goes in ((HALF, first_ends), (BFLOAT, not first_ends))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == {HALF: [HALF] * (1 if first_ends else 2), BFLOAT: [BFLOAT] * (2 if first_ends else 1)}
    assert _trace() == before


def test_a_thread_forgets_its_weights_when_its_own_region_ends(emulated: None) -> None:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    entered, done = threading.Event(), threading.Event()

    def stay_inside() -> None:
        with cuda_autocast.cuda_autocast(), cuda_autocast.region(HALF):
            entered.set()
            done.wait(60)

    other = threading.Thread(target=stay_inside)
    other.start()
    assert entered.wait(60)
    values = []
    for _ in range(2):
        with cuda_autocast.region(HALF):
            values.append(F.linear(x, w).item())
        doubled(w)
    done.set()
    other.join(60)
    assert values == [2.0, 4.0]


def test_a_backward_in_another_thread_is_that_threads_own(emulated: None) -> None:
    w = new_weight(3, 3)
    with cuda_autocast.region(HALF):
        loss = F.linear(w, w).float().sum()
        _in_thread(lambda: loss.backward() or True)
    assert w.grad.dtype is SINGLE
