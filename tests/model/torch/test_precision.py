"""What autocast does with an operation, against the tables, and the tables against torch where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amplint.model.events import NO_GRAD, Region
from amplint.model.torch import operators, precision
from amplint.model.torch.operators import Policy, policy
from amplint.model.torch.precision import LIMITS, promoted, result_dtype, rounded

CUDA = Region("cuda", "float16", "yes")
CUDA_BF16 = Region("cuda", "bfloat16", "yes")
CPU = Region("cpu", "bfloat16", "yes")
OFF = Region("cuda", "float16", "no")


@pytest.mark.parametrize(
    ("op", "inputs", "region", "expected"),
    [
        ("linear", ["float32"], CUDA, "float16"),
        ("matmul", ["?", "float32"], CUDA_BF16, "bfloat16"),
        ("linear", ["float64"], CUDA, "float64"),
        ("exp", ["float16"], CUDA, "float32"),
        ("exp", ["bfloat16"], CPU, "bfloat16"),
        ("softmax", ["float16"], CUDA, "float32"),
        ("softmax", ["bfloat16"], CPU, "bfloat16"),
        ("sum", ["float16"], CUDA, "float32"),
        ("mean", ["float16"], CUDA, "float16"),
        ("sigmoid", ["float16"], CUDA, "float16"),
        ("add", ["float16", "float32"], CUDA, "float32"),
        ("layer_norm", ["float16"], CUDA, "float32"),
        ("batch_norm", ["float16"], CUDA, "float16"),
        ("batch_norm", ["float16"], Region("mps", "float16", "yes"), "float32"),
        ("addcmul", ["float16", "float32"], CUDA, "float32"),
        ("cat", ["bfloat16", "float32"], CPU, "float32"),
        ("binary_cross_entropy", ["float32"], CUDA, "?"),
        ("binary_cross_entropy", ["bfloat16"], CPU, "float32"),
        ("linear", ["float32"], OFF, "float32"),
        ("linear", ["float32"], NO_GRAD, "float32"),
        ("exp", ["float16"], None, "float16"),
        ("linear", ["float32"], Region("cuda", "float16", "maybe"), "float16"),
        ("linear", ["float32"], Region("?", "float16", "yes"), "?"),
    ],
)
def test_result_dtype(op: str, inputs: list[str], region: Region | None, expected: str) -> None:
    assert result_dtype(op, inputs, region) == expected


def test_in_place_and_explicit_forms_are_left_alone() -> None:
    assert result_dtype("exp", ["float16"], CUDA, in_place=True) == "float16"
    assert result_dtype("softmax", ["float16"], CUDA, explicit="float16") == "float16"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["float16", "bfloat16"], "float32"),
        (["bool", "int"], "int"),
        (["int", "float16"], "float16"),
        (["float16", "?"], "?"),
        (["float64", "?"], "float64"),
        ([], "?"),
    ],
)
def test_promoted(given: list[str], expected: str) -> None:
    assert promoted(given) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.98e-8, 0.0),
        (3e-8, 2.0**-24),
        (1e-8, 0.0),
        (0.9999, 1.0),
        (65519.0, 65504.0),
        (65520.0, float("inf")),
        (-1e9, float("-inf")),
    ],
)
def test_rounded_to_float16(value: float, expected: float) -> None:
    assert rounded(value, "float16") == expected
    assert rounded(value, "float32") == value


def test_every_device_with_a_table_has_a_default() -> None:
    assert set(operators.TABLES) <= set(precision.DEFAULT_DTYPE)
    assert policy("linear", "cuda") is Policy.LOWER
    assert policy("linear", "hpu") is None


# -- against torch -----------------------------------------------------------------------------------------------------

_UNARY = """
    exp expm1 log log10 log2 log1p reciprocal rsqrt tan cosh sinh acos asin sqrt mean var std sigmoid tanh erf erfc exp2 sin
    cos atan abs sum prod square logit
""".split()
_FUNCTIONAL = "relu gelu silu mish elu selu leaky_relu softplus logsigmoid hardsigmoid relu6".split()


def _of_first(function: Callable[..., Any], **how: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(x, **how)


def _calls(torch: Any) -> dict[str, Callable[[Any, Any], Any]]:
    F = torch.nn.functional
    calls = {name: _of_first(getattr(torch, name)) for name in _UNARY}
    calls |= {name: _of_first(getattr(torch, name), dim=-1) for name in ("cumsum", "cumprod")}
    calls |= {name: _of_first(getattr(F, name)) for name in _FUNCTIONAL}
    calls |= {
        "softmax": lambda x, y: x.softmax(-1),
        "log_softmax": lambda x, y: x.log_softmax(-1),
        "logsumexp": lambda x, y: x.logsumexp(-1),
        "norm": lambda x, y: x.norm(),
        "pow": lambda x, y: x.pow(2),
        "matmul": lambda x, y: x @ y,
        "linear": lambda x, y: F.linear(x, y),
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "layer_norm": lambda x, y: F.layer_norm(x, (8,)),
        "mse_loss": lambda x, y: F.mse_loss(x, y),
        "l1_loss": lambda x, y: F.l1_loss(x, y),
        "smooth_l1_loss": lambda x, y: F.smooth_l1_loss(x, y),
        "kl_div": lambda x, y: F.kl_div(x, y),
        "cosine_similarity": lambda x, y: F.cosine_similarity(x, y),
        "normalize": lambda x, y: F.normalize(x),
        "cdist": lambda x, y: torch.cdist(x, y),
        "binary_cross_entropy_with_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y),
        "logaddexp": lambda x, y: torch.logaddexp(x, y),
        "clamp": lambda x, y: x.clamp(0, 1),
    }
    return calls


@pytest.mark.filterwarnings("ignore")
def test_tables_agree_with_torch_on_cuda() -> None:
    """CUDA's autocast, asked for dtypes on tensors without data: its table decides before a device is needed."""
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    enabled, dtype = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    with FakeTensorMode(), torch.no_grad():
        x = torch.empty(8, 8, device="cuda", dtype=torch.float16)
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        try:
            seen = {op: str(call(x, x).dtype) for op, call in _calls(torch).items()}
        finally:
            torch.set_autocast_enabled("cuda", enabled)
            torch.set_autocast_dtype("cuda", dtype)
    told = {op: f"torch.{result_dtype(op, ['float16'], CUDA)}" for op in seen}
    assert told == seen


@pytest.mark.filterwarnings("ignore")
def test_tables_agree_with_torch_on_cpu() -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(8, 8).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        seen = {op: str(call(x, x).dtype) for op, call in _calls(torch).items() if op != "cdist"}
    told = {op: f"torch.{result_dtype(op, ['bfloat16'], CPU)}" for op in seen}
    assert told == seen


def test_limits_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    for name, limits in LIMITS.items():
        dtype = getattr(torch, name)
        info = torch.finfo(dtype)
        assert limits.largest == pytest.approx(info.max, rel=1e-4)
        assert torch.tensor(limits.vanishing, dtype=torch.float64).to(dtype) == 0
        assert torch.tensor(limits.vanishing * 1.01, dtype=torch.float64).to(dtype) > 0
        one = torch.sigmoid(torch.tensor([limits.sigmoid_one + 0.01, limits.sigmoid_one - 0.1], dtype=dtype))
        assert (one == 1).tolist() == [True, False]
