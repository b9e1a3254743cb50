"""CUDA's autocast on CPU tensors, against what CUDA's own autocast makes of tensors without data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from autocast_samples import SAMPLES, Make

from amplint.model.torch import operators
from amplint.model.torch.operators import Policy

torch = pytest.importorskip("torch", reason="the emulation needs torch: pip install 'amplint[verify]'")

from emulation import BFLOAT, DOUBLE, HALF, MIXES, ON_CPU, SINGLE, WITHOUT_FAKES, F, answer, dtypes_of  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from amplint.runtime.emulation import cuda_autocast, cuda_table  # noqa: E402
from amplint.runtime.emulation.cuda_table import Arrival, arrival, registered_overloads, witnessed  # noqa: E402
from amplint.runtime.emulation.kernels import overload  # noqa: E402

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
    model = operators.TABLES["cuda"]
    table = {name.partition(".")[0]: treatment.policy for name, treatment in cuda_table.cuda_table().items()}
    internal = {name for name in table if name.startswith(("_", "upsample_")) or name == "nll_loss2d"}
    assert {name: model.get(name) for name in table.keys() - internal} == {
        name: policy for name, policy in table.items() if name not in internal
    }
    assert table["norm"] is Policy.FLOAT32_RESULT


# -- against CUDA's own autocast ---------------------------------------------------------------------------------------


def _tensors(dtypes: tuple[Any, ...], device: str) -> Iterator[Any]:
    return (torch.empty(1, dtype=dtype, device=device) for dtype in itertools.cycle(dtypes))


@pytest.mark.parametrize("dtype", [HALF, BFLOAT, SINGLE], ids=str)
def test_what_arrives_behind_autocast(emulated: None, dtype: Any) -> None:
    """Every operation, every mix of input precisions: the emulation hands on exactly what CUDA's autocast hands on."""

    def arrivals(device: str) -> dict[tuple[str, tuple[Any, ...]], Any]:
        calls = itertools.product(ON_CPU, MIXES)
        return {(name, mix): answer(arrival, name, _tensors(mix, device)) for name, mix in calls}

    with witnessed(ON_CPU), cuda_autocast.region(dtype):
        ours = arrivals("cpu")
        with FakeTensorMode(), torch.no_grad():
            cuda = arrivals("cuda")
    assert ours == cuda


def test_what_arrives_is_told_apart(emulated: None) -> None:
    """The comparison above can fail: what it compares depends on the region."""
    with witnessed(["linear"]):
        with cuda_autocast.region(HALF):
            inside = arrival("linear", _tensors((SINGLE,), "cpu"))
        outside = arrival("linear", _tensors((SINGLE,), "cpu"))
    assert (inside.tensors, outside.tensors) == ((HALF,) * 3, (SINGLE,) * 3)
    assert inside == Arrival("linear", (HALF,) * 3, None)


def _result(name: str, make: Make) -> Any:
    return answer(lambda: dtypes_of(overload(name)(*SAMPLES[name](make))))


def _result_on_cuda(name: str, given: Any) -> Any:
    """What a call gives on CUDA in the region that is open."""
    with FakeTensorMode(), torch.no_grad():
        if name not in WITHOUT_FAKES:
            return _result(name, Make(torch, given, "cuda"))
        with witnessed([name]):
            arrived = answer(arrival, name, _tensors((given,), "cuda"))
    if isinstance(arrived, str):
        return arrived
    with cuda_autocast.region(enabled=False):
        return _result(name, Make(torch, arrived.tensors[0]))


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", ON_CPU)
def test_results_have_the_dtypes_of_cuda(emulated: None, name: str) -> None:
    assert name in SAMPLES, f"CUDA's autocast has a new operation: add a call of {name} to autocast_samples.py"
    for dtype, given in itertools.product((HALF, BFLOAT), (SINGLE, HALF, BFLOAT)):
        with cuda_autocast.region(dtype):
            assert _result(name, Make(torch, given)) == _result_on_cuda(name, given), f"{given} in a region of {dtype}"


UNLISTED = """
    sqrt mean nanmean nansum var std sigmoid tanh erf erfc exp2 sin cos atan abs max min amax median logit lgamma digamma
    relu selu trace
""".split()


@pytest.mark.parametrize("name", UNLISTED)
def test_other_operations_keep_their_dtype(emulated: None, name: str) -> None:
    for dtype, given in itertools.product((HALF, BFLOAT), (SINGLE, HALF, BFLOAT)):
        with cuda_autocast.region(dtype):
            assert getattr(torch, name)(Make(torch, given)(3, 3)).dtype is given


def test_forms_that_autocast_never_sees(emulated: None) -> None:
    x = torch.full((3, 3), 0.5, dtype=HALF)
    single = x.float()
    with cuda_autocast.region(HALF):
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
    with cuda_autocast.region(HALF):
        with pytest.raises(
            RuntimeError, match=r"^torch\.nn\.functional\.binary_cross_entropy and .* unsafe to autocast"
        ):
            F.binary_cross_entropy(x, x)
        with cuda_autocast.region(enabled=False):
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
            one.register_forward_hook(lambda _, __, out, path=path: seen.append((path, dtypes_of(out)[0])))
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

    with torch.no_grad(), cuda_autocast.region(HALF):
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
    with torch.no_grad(), cuda_autocast.region(HALF):
        ours = dtypes_of(_attention(torch.rand(2, 4, 8), torch.rand(8, 8)))
        with FakeTensorMode():
            cuda = dtypes_of(_attention(torch.empty(2, 4, 8, device="cuda"), torch.empty(8, 8, device="cuda")))
    assert ours == cuda
    assert ours == [HALF, HALF, SINGLE, HALF, SINGLE, SINGLE, HALF, SINGLE, HALF]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=str)
def test_recurrent_layers_give_what_cudnn_gives(emulated: None, kind: str, dtype: Any) -> None:
    """All results in the precision of the region, from operands rounded to it."""
    layer = getattr(torch.nn, kind)(4, 3)
    x = torch.rand(5, 2, 4)
    with cuda_autocast.region(dtype):
        out, state = layer(x)
    assert {one.dtype for one in (out, *(state if kind == "LSTM" else [state]))} == {dtype}
    out.float().sum().backward()
    assert {weight.grad.dtype for weight in layer.parameters()} == {SINGLE}
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(weight.to(dtype))
        assert torch.equal(out, layer(x.to(dtype).float())[0].to(dtype))
