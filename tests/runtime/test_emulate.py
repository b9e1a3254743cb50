"""CUDA's autocast on CPU tensors, against what CUDA's own autocast makes of tensors without data."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from autocast_samples import SAMPLES, Make

from amplint.model import precision
from amplint.model.precision import Policy

torch = pytest.importorskip("torch", reason="the emulation needs torch: pip install 'amplint[verify]'")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from amplint.runtime import cuda_table, emulate  # noqa: E402
from amplint.runtime.cuda_table import Arrival, arrival, registered_overloads, runs_on_cpu, witnessed  # noqa: E402
from amplint.runtime.dispatch import EMULATION, WITNESS, overload  # noqa: E402

F = torch.nn.functional
HALF, BFLOAT, SINGLE, DOUBLE = torch.float16, torch.bfloat16, torch.float32, torch.float64
ON_CPU = [name for name in registered_overloads() if runs_on_cpu(name)]
WITHOUT_FAKES = ("gru_cell", "grid_sampler")
"""These ask for a GPU even on tensors without data. CUDA's autocast still says what arrives behind it."""


@pytest.fixture
def emulated() -> Iterator[None]:
    with emulate.cuda_autocast():
        yield


def _dtypes(result: Any) -> list[Any]:
    several = result if isinstance(result, (tuple, list)) else [result]
    return [one.dtype for one in several if one is not None]


def _answer(ask: Callable[..., Any], *how: Any) -> Any:
    """What is answered, or how it is refused."""
    try:
        return ask(*how)
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


# -- the table ---------------------------------------------------------------------------------------------------------


def test_every_operation_registered_for_cuda_has_a_policy() -> None:
    assert set(cuda_table.cuda_table()) == set(ON_CPU)


def test_only_kernels_of_a_gpu_are_left_out() -> None:
    """A new name here means that torch's autocast has learnt an operation, and that somebody has to look at it."""
    left_out = set(registered_overloads()) - set(ON_CPU)
    assert left_out - {"_cudnn_rnn"} == {  # that one is there where torch is built with cuDNN
        "_scaled_dot_product_flash_attention",
        "_thnn_fused_gru_cell",
        "_thnn_fused_lstm_cell",
        "cudnn_convolution",
        "cudnn_convolution_transpose",
    }


def test_the_model_knows_what_torch_says() -> None:
    """The static witness and the runtime one go by the same policies."""
    model = precision.TABLES["cuda"]
    table = {name.partition(".")[0]: treatment.policy for name, treatment in cuda_table.cuda_table().items()}
    internal = {name for name in table if name.startswith(("_", "upsample_")) or name == "nll_loss2d"}
    assert {name: model.get(name) for name in table.keys() - internal} == {
        name: policy for name, policy in table.items() if name not in internal
    }
    assert table["norm"] is Policy.FLOAT32_RESULT


# -- against CUDA's own autocast ---------------------------------------------------------------------------------------

MIXES = [
    *[(one,) for one in (SINGLE, HALF, BFLOAT, DOUBLE)],
    *itertools.permutations((SINGLE, HALF, BFLOAT), 2),
    *[(DOUBLE, one) for one in (SINGLE, HALF, BFLOAT)],
    *[(one, DOUBLE) for one in (SINGLE, HALF, BFLOAT)],
]


def _tensors(dtypes: tuple[Any, ...], device: str) -> Iterator[Any]:
    return (torch.empty(1, dtype=dtype, device=device) for dtype in itertools.cycle(dtypes))


@pytest.mark.parametrize("dtype", [HALF, BFLOAT, SINGLE], ids=str)
def test_what_arrives_behind_autocast(emulated: None, dtype: Any) -> None:
    """Every operation, every mix of input precisions: the emulation hands on exactly what CUDA's autocast hands on."""

    def arrivals(device: str) -> dict[tuple[str, tuple[Any, ...]], Any]:
        calls = itertools.product(ON_CPU, MIXES)
        return {(name, mix): _answer(arrival, name, _tensors(mix, device)) for name, mix in calls}

    with witnessed(ON_CPU), emulate.region(dtype):
        ours = arrivals("cpu")
        with FakeTensorMode(), torch.no_grad():
            cuda = arrivals("cuda")
    assert ours == cuda


def test_what_arrives_is_told_apart(emulated: None) -> None:
    """The comparison above can fail: what it compares depends on the region."""
    with witnessed(["linear"]):
        with emulate.region(HALF):
            inside = arrival("linear", _tensors((SINGLE,), "cpu"))
        outside = arrival("linear", _tensors((SINGLE,), "cpu"))
    assert (inside.tensors, outside.tensors) == ((HALF,) * 3, (SINGLE,) * 3)
    assert inside == Arrival("linear", (HALF,) * 3, None)


def _result(name: str, make: Make) -> Any:
    return _answer(lambda: _dtypes(overload(name)(*SAMPLES[name](make))))


def _result_on_cuda(name: str, given: Any) -> Any:
    """What a call gives on CUDA in the region that is open."""
    with FakeTensorMode(), torch.no_grad():
        if name not in WITHOUT_FAKES:
            return _result(name, Make(torch, given, "cuda"))
        with witnessed([name]):
            arrived = _answer(arrival, name, _tensors((given,), "cuda"))
    if isinstance(arrived, str):
        return arrived
    with emulate.region(enabled=False):
        return _result(name, Make(torch, arrived.tensors[0]))


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", ON_CPU)
def test_results_have_the_dtypes_of_cuda(emulated: None, name: str) -> None:
    assert name in SAMPLES, f"CUDA's autocast has a new operation: add a call of {name} to autocast_samples.py"
    for dtype, given in itertools.product((HALF, BFLOAT), (SINGLE, HALF, BFLOAT)):
        with emulate.region(dtype):
            assert _result(name, Make(torch, given)) == _result_on_cuda(name, given), f"{given} in a region of {dtype}"


UNLISTED = """
    sqrt mean nanmean nansum var std sigmoid tanh erf erfc exp2 sin cos atan abs max min amax median logit lgamma digamma
    relu selu trace
""".split()


@pytest.mark.parametrize("name", UNLISTED)
def test_other_operations_keep_their_dtype(emulated: None, name: str) -> None:
    for dtype, given in itertools.product((HALF, BFLOAT), (SINGLE, HALF, BFLOAT)):
        with emulate.region(dtype):
            assert getattr(torch, name)(Make(torch, given)(3, 3)).dtype is given


def test_forms_that_autocast_never_sees(emulated: None) -> None:
    x = torch.full((3, 3), 0.5, dtype=HALF)
    single = x.float()
    with emulate.region(HALF):
        assert x.exp().dtype is SINGLE
        assert x.clone().exp_().dtype is HALF
        assert torch.exp(x, out=torch.empty_like(x)).dtype is HALF
        assert torch.mm(single, single, out=torch.empty_like(single)).dtype is SINGLE
        assert x.softmax(-1, dtype=HALF).dtype is HALF
        assert x.sum(dtype=BFLOAT).dtype is BFLOAT
        assert x.norm(dtype=HALF).dtype is HALF
        assert (x.double() @ x.double()).dtype is DOUBLE
        assert torch.ones(3, dtype=torch.int64).sum().dtype is torch.int64


def test_binary_cross_entropy_is_refused_in_cudas_words(emulated: None) -> None:
    x = torch.rand(3)
    with emulate.region(HALF):
        with pytest.raises(
            RuntimeError, match=r"^torch\.nn\.functional\.binary_cross_entropy and .* unsafe to autocast"
        ):
            F.binary_cross_entropy(x, x)
        with emulate.region(enabled=False):
            assert F.binary_cross_entropy(x, x).dtype is SINGLE
    assert F.binary_cross_entropy(x, x).dtype is SINGLE


_nn = torch.nn
MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "perceptron": (_nn.Sequential(_nn.Linear(8, 8), _nn.GELU(), _nn.LayerNorm(8), _nn.Linear(8, 2)), (4, 8)),
    "convolutions": (
        _nn.Sequential(_nn.Conv2d(3, 4, 3), _nn.BatchNorm2d(4), _nn.ReLU(), _nn.Upsample(8)).eval(),
        (2, 3, 8, 8),
    ),
    "group norm": (_nn.Sequential(_nn.Conv1d(4, 4, 1), _nn.GroupNorm(2, 4), _nn.Softmax(-1)), (2, 4, 8)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_compute_in_the_dtypes_of_cuda(emulated: None, name: str) -> None:
    module, size = MODULES[name]

    def outputs(device: str) -> list[tuple[str, Any]]:
        seen: list[tuple[str, Any]] = []
        hooks = [
            one.register_forward_hook(lambda _, __, out, path=path: seen.append((path, _dtypes(out)[0])))
            for path, one in module.named_modules()
        ]
        weights = {
            key: torch.empty(value.shape, dtype=value.dtype, device=device)
            for key, value in itertools.chain(module.named_parameters(), module.named_buffers())
        }
        try:
            torch.func.functional_call(module, weights, (torch.empty(size, device=device),))
        finally:
            for hook in hooks:
                hook.remove()
        return seen

    with torch.no_grad(), emulate.region(HALF):
        ours = outputs("cpu")
        with FakeTensorMode():
            cuda = outputs("cuda")
    assert ours == cuda
    assert {dtype for _, dtype in ours} == {HALF, SINGLE}


def _attention(x: Any, w: Any) -> tuple[Any, ...]:
    """Written out: torch's own layer copies its projections, which tensors without data cannot do."""
    q, k, v = (F.linear(x, w) for _ in "qkv")
    scores = q @ k.transpose(-1, -2) / 8**0.5
    shares = (scores - scores.amax(-1, keepdim=True)).softmax(-1)
    mixed = shares @ v
    normed = F.layer_norm(x + mixed, (8,))
    loss = F.cross_entropy(normed.flatten(0, 1), normed.flatten(0, 1).softmax(-1))
    return q, scores, shares, mixed, normed, loss, (mixed * mixed).mean(), mixed.pow(2).mean(), mixed / mixed.norm()


def test_attention_computes_in_the_dtypes_of_cuda(emulated: None) -> None:
    with torch.no_grad(), emulate.region(HALF):
        ours = _dtypes(_attention(torch.rand(2, 4, 8), torch.rand(8, 8)))
        with FakeTensorMode():
            cuda = _dtypes(_attention(torch.empty(2, 4, 8, device="cuda"), torch.empty(8, 8, device="cuda")))
    assert ours == cuda
    assert ours == [HALF, HALF, SINGLE, HALF, SINGLE, SINGLE, HALF, SINGLE, HALF]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=str)
def test_recurrent_layers_give_what_cudnn_gives(emulated: None, kind: str, dtype: Any) -> None:
    """All results in the precision of the region, from operands rounded to it."""
    layer = getattr(torch.nn, kind)(4, 3)
    x = torch.rand(5, 2, 4)
    with emulate.region(dtype):
        out, state = layer(x)
    assert {one.dtype for one in (out, *(state if kind == "LSTM" else [state]))} == {dtype}
    out.float().sum().backward()
    assert {weight.grad.dtype for weight in layer.parameters()} == {SINGLE}
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(weight.to(dtype))
        assert torch.equal(out, layer(x.to(dtype).float())[0].to(dtype))


# -- values and gradients ----------------------------------------------------------------------------------------------


def _weight(*size: int) -> Any:
    return torch.rand(size, generator=torch.Generator().manual_seed(len(size)), requires_grad=True)


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
    ours, theirs = _weight(4, 4), _weight(4, 4)
    with emulate.region(HALF, cache_enabled=False):
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
    with emulate.region(HALF):
        loss = p.log()
    loss.backward()
    assert (loss.dtype, loss.isfinite().item()) == (SINGLE, True)
    assert (p.grad.dtype, p.grad.isinf().item()) == (HALF, True)


def test_backward_runs_in_the_dtypes_of_forward(emulated: None) -> None:
    x, w = torch.rand(2, 4), _weight(3, 4)
    seen: list[Any] = []
    with emulate.region(BFLOAT):
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
        w = _weight(8, 8)
        with emulate.region(HALF):
            with emulate.region(enabled=False):
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


def _doubled(w: Any) -> None:
    with torch.no_grad():
        w.mul_(2)


def _one_region(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, requires_grad=True)
    with open_region():
        yield F.linear(x, w)
        _doubled(w)
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
        _doubled(w)
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
        _doubled(w)
        yield F.linear(x, w)


def _half_weight(open_region: Open) -> Iterator[Any]:
    x, w = torch.ones(1, 2), torch.ones(1, 2, dtype=BFLOAT, requires_grad=True)
    with open_region():
        yield F.linear(x, w)
        _doubled(w)
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
        return emulate.region(BFLOAT, **how)

    expected = [(y.dtype, y.tolist(), y.requires_grad) for y in story(on_cpu)]
    with emulate.cuda_autocast():
        seen = [(y.dtype, y.tolist(), y.requires_grad) for y in story(ours)]
    assert seen == expected


# -- regions -----------------------------------------------------------------------------------------------------------


def test_a_region_is_torchs_own(emulated: None) -> None:
    outside = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    region = emulate.region(BFLOAT)
    assert isinstance(region, torch.autocast)
    with region:
        assert (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")) == (True, BFLOAT)
        with emulate.region():
            assert torch.get_autocast_dtype("cuda") is BFLOAT
        with emulate.region(enabled=False):
            assert not torch.is_autocast_enabled("cuda")
    assert (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")) == outside


def test_regions_nest(emulated: None) -> None:
    x = torch.rand(3, 3)
    dtypes = []
    with emulate.region(HALF):
        dtypes.append((x @ x).dtype)
        with emulate.region(enabled=False):
            dtypes.append((x @ x).dtype)
            with emulate.region(BFLOAT):
                dtypes.append((x @ x).dtype)
        dtypes.append((x @ x).dtype)
        with emulate.region(SINGLE):
            dtypes.append((x.half() @ x).dtype)
    dtypes.append((x @ x).dtype)
    assert dtypes == [HALF, SINGLE, BFLOAT, HALF, SINGLE, SINGLE]


def test_a_region_decorates(emulated: None) -> None:
    @emulate.region(HALF)
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
        with emulate.cuda_autocast(), emulate.region(BFLOAT, cache_enabled=False):
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
        with emulate.cuda_autocast(), emulate.region(HALF):
            with emulate.region(enabled=False):
                x @ x
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        with emulate.cuda_autocast(), emulate.region(HALF):
            x @ x
    assert _trace() == before


def test_an_error_inside_an_operation_does_not_end_the_emulation(emulated: None) -> None:
    x = torch.rand(2, 3)
    with emulate.region(HALF):
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            x @ x
        assert (x @ x.T).dtype is HALF


def test_emulations_nest() -> None:
    before = _trace()
    x = torch.rand(3, 3)
    with emulate.cuda_autocast():
        with emulate.cuda_autocast(), emulate.region(HALF):
            assert (x @ x).dtype is HALF
        with emulate.region(HALF):
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
    with emulate.region(HALF):
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
    with emulate.cuda_autocast(), emulate.region(HALF):
        assert _in_thread(look) == expected
        assert (x @ x).dtype is HALF


@pytest.mark.parametrize("first_ends", [True, False])
def test_threads_emulate_at_the_same_time(first_ends: bool) -> None:
    """Each has its own region, and the one that stays is not disturbed by the one that goes."""
    before = _trace()
    x = torch.rand(3, 3)
    both_inside, gone = threading.Barrier(2, timeout=60), threading.Event()

    def emulate_in(dtype: Any, goes: bool) -> list[Any]:
        with emulate.cuda_autocast(), emulate.region(dtype):
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
        with emulate.cuda_autocast(), emulate.region(HALF):
            entered.set()
            done.wait(60)

    other = threading.Thread(target=stay_inside)
    other.start()
    assert entered.wait(60)
    values = []
    for _ in range(2):
        with emulate.region(HALF):
            values.append(F.linear(x, w).item())
        _doubled(w)
    done.set()
    other.join(60)
    assert values == [2.0, 4.0]


def test_a_backward_in_another_thread_is_that_threads_own(emulated: None) -> None:
    w = _weight(3, 3)
    with emulate.region(HALF):
        loss = F.linear(w, w).float().sum()
        _in_thread(lambda: loss.backward() or True)
    assert w.grad.dtype is SINGLE
