"""The dtype flow: what is half, and what bounds it."""

from __future__ import annotations

import pytest
from dtype_flow import flow, logged

from amplint.dtypes import ConstantEffect


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("lin(data)", "float16"),
        ("data @ data", "float16"),
        ("F.linear(data, param)", "float16"),
        ("torch.relu(lin(data))", "float16"),
        ("lin(data).mean(dim=1)", "float16"),
        ("lin(data) * 2 + 1", "float16"),
        ("lin(data)[0]", "float16"),
        ("lin(data).view(-1, 2).squeeze()", "float16"),
        ("torch.cat([lin(data), lin(data)])", "float16"),
        ("nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())(data)", "float16"),
        ("nn.LSTM(8, 8)(data)[0]", "float16"),
        ("lin(data) / lin(data).sum()", "float16"),
        ("lin(data).float()", "float32"),
        ("lin(data).to(torch.float32)", "float32"),
        ("lin(data).type_as(param)", "float32"),
        ("lin(data) + param", "float32"),
        ("lin(data).softmax(-1)", "float32"),
        ("lin(data).sum()", "float32"),
        ("lin(data) ** 2", "float32"),
        ("1 / lin(data)", "float32"),
        ("nn.LayerNorm(8)(lin(data))", "float32"),
        ("F.mse_loss(lin(data), data)", "float32"),
        ("param", "float32"),
        ("torch.zeros(8)", "float32"),
        ("lin(data) > 0", "bool"),
        ("lin(data).argmax(-1)", "int"),
        ("lin(data).view(-1, count)", "float16"),
        ("lin(data).reshape(rows, columns).expand(rows, *rest)", "float16"),
        ("lin(data).view(given)", "?"),
        ("lin(data).view(torch.int16)", "?"),
        ("lin(data).expand_as(param)", "float16"),
        ("lin(data) / (args.batch_size - 1)", "float16"),
        ("lin(data) * self.cfg['train'].temperature", "float16"),
        ("lin(data) * cfg['scale']", "float16"),
        ("lin(data) * args.class_weights", "?"),
        ("lin(data) * args[0]", "?"),
        ("lin(data) * params['scale']", "?"),
        ("lin(data) * self.scale", "?"),
        ("{'a': lin(data), 'b': data}['a']", "float16"),
        ("{'a': lin(data), 'b': data}['b']", "?"),
        ("{'a': lin(data), 'b': data}[key]", "?"),
        ("{'a': lin(data), 'b': lin(data)}[key]", "float16"),
        ("{'a': lin(data)}['b']", "?"),
        ("{**{'a': lin(data)}, 'b': data}['a']", "float16"),
        ("{**others, 'a': lin(data)}['a']", "float16"),
        ("{'a': lin(data), **others}['a']", "?"),
        ("{'a': lin(data)}.get('a')", "float16"),
        ("dict(a=lin(data))['a']", "float16"),
        ("dict({'a': lin(data)}, b=data)['a']", "float16"),
        ("{k: v.float() for k, v in {'a': lin(data)}.items()}['a']", "float32"),
        ("[v for v in {'a': lin(data)}.values()][0]", "float16"),
        ("(nn.ReLU() if flag else nn.Tanh())(lin(data))", "float16"),
        ("(nn.ReLU() if flag else nn.Softmax(-1))(lin(data))", "?"),
        ("(nn.ReLU() if flag else activation)(lin(data))", "?"),
        ("{'relu': nn.ReLU(), 'tanh': nn.Tanh()}[name](lin(data))", "float16"),
        ("data", "?"),
        ("data + lin(data)", "?"),
        ("unknown(lin(data))", "?"),
        ("lin(data).to(chosen_dtype)", "?"),
    ],
)
def test_dtype(expression: str, dtype: str) -> None:
    assert logged(f"torch.log({expression})").dtype == dtype


@pytest.mark.parametrize(
    ("region", "dtype"),
    [
        ('torch.autocast("cuda")', "float16"),
        ('torch.autocast("cuda", dtype=torch.bfloat16)', "bfloat16"),
        ('torch.autocast("cpu")', "bfloat16"),
        ("torch.autocast(device.type, dtype=torch.float16)", "float16"),
        ('torch.autocast("cuda", enabled=flag)', "float16"),
        ('torch.autocast("cuda", enabled=False)', "?"),
        ('torch.autocast("cuda", dtype=torch.float32)', "float32"),
        ('torch.autocast("cpu", dtype=torch.float32)', "?"),
        ('torch.autocast("cuda", dtype=torch.float16 if flag else torch.bfloat16)', "half"),
        ('torch.autocast("cuda", dtype=torch.float16 if flag else torch.float32)', "float16"),
        ('torch.autocast("cuda", dtype=[torch.half, torch.bfloat16, torch.float][flag])', "?"),
        ('torch.autocast("cuda"), torch.autocast("cuda", enabled=False)', "?"),
        ('torch.autocast("cuda"), torch.autocast("cpu", enabled=False)', "float16"),
        ('torch.autocast("cuda"), torch.autocast("cuda", dtype=torch.bfloat16)', "bfloat16"),
    ],
)
def test_region(region: str, dtype: str) -> None:
    assert logged("torch.log(lin(data))", region).dtype == dtype


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("torch.sigmoid(lin(data))", 0.0, 1.0),
        ("1 - torch.sigmoid(lin(data))", 0.0, 1.0),
        ("torch.sigmoid(lin(data)) + 1e-8", 0.0, 1.0),
        ("torch.sigmoid(lin(data)).clamp(1e-3, 0.9999)", 0.0010004043579101562, 1.0),
        ("torch.sigmoid(lin(data).float()).clamp(1e-3, 0.9999)", 1e-3, 0.9999),
        ("lin(data).abs() + 1", 1.0, float("inf")),
        ("-torch.relu(lin(data))", float("-inf"), 0.0),
        ("torch.tanh(lin(data)) * 2", -2.0, 2.0),
        ("torch.clamp_min(lin(data), 0.5)", 0.5, float("inf")),
        ("torch.tanh(lin(data)) ** 2", 0.0, 1.0),
        ("lin(data).double().clamp(-1e200, 1e200) ** 2", 0.0, float("inf")),
        ("torch.sqrt(1 - torch.tanh(lin(data)) ** 2)", 0.0, 1.0),
        ("torch.tanh(lin(data)) * math.cos(margin)", -1.0, 1.0),
        ("torch.tanh(lin(data)) - math.sin(margin)", -2.0, 2.0),
        ("torch.tanh(lin(data)) / math.cos(margin)", float("-inf"), float("inf")),
        ("torch.tanh(lin(data)) * math.exp(margin)", float("-inf"), float("inf")),
        ("torch.tanh(lin(data)) * math.sqrt(4)", -2.0, 2.0),
        ("torch.tanh(lin(data)) * math.log(0)", float("-inf"), float("inf")),
        ("torch.tanh(lin(data)).float() * math.pi", -3.141592653589793, 3.141592653589793),
        ("lin(data)", float("-inf"), float("inf")),
    ],
)
def test_bounds(expression: str, low: float, high: float) -> None:
    operand = logged(f"torch.log({expression})")
    assert (operand.low, operand.high) == (low, high)


def test_branches_that_disagree_leave_the_dtype_unknown() -> None:
    code = "h = lin(data)\nif widen:\n    h = h.float()\ntorch.log(h)"
    assert logged(code).dtype == "?"
    assert logged("h = lin(data)\nif widen:\n    raise ValueError\ntorch.log(h)").dtype == "float16"


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("(lin(data) > 0) * 0.5", "float32"),
        ("(lin(data) > 0) * 2", "int"),
        ("~(lin(data) > 0)", "bool"),
        ("lin(data) / data.size(-1) ** 0.5", "float16"),
        ("lin(data) / math.sqrt(data.shape[-1])", "float16"),
        ("lin(data) * len(data)", "float16"),
        ("lin(data) + (lin(data) > 0).float()", "float32"),
        ("lin(data) + torch.tensor(1.5)", "float16"),
        ("torch.where(data > 0, lin(data), 0.0)", "float16"),
        ("lin(data) if lin(data).dtype == torch.float16 else data", "float16"),
        ("lin(data) if data.dtype == torch.float16 else data", "?"),
    ],
)
def test_numbers_masks_and_sizes(expression: str, dtype: str) -> None:
    assert logged(f"import math\nh = {expression}\ntorch.log(h)").dtype == dtype


def test_in_place_arithmetic_keeps_the_dtype() -> None:
    assert logged("h = lin(data)\nh += param\ntorch.log(h)").dtype == "float16"
    assert logged("h = lin(data)\nh = h + param\ntorch.log(h)").dtype == "float32"


def test_branches_on_the_dtype_are_decided() -> None:
    code = "h = lin(data)\nif h.dtype in (torch.float16, torch.bfloat16):\n    h = h.float()\nelse:\n    h = data\ntorch.log(h)"
    assert logged(code).dtype == "float32"
    assert logged(code.replace(" in ", " not in ")).dtype == "?"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("h.masked_fill(data > 0, -1e9)", [(ConstantEffect.FILLED, -1e9)]),
        ("h.masked_fill(data > 0, torch.finfo(torch.float32).min)", [(ConstantEffect.FILLED, -3.4028e38)]),
        ("h.masked_fill(data > 0, torch.tensor(-1e9))", [(ConstantEffect.FILLED, -1e9)]),
        ("h.masked_fill(data > 0, float('-inf'))", []),
        ("h[data > 0] = -1e9", [(ConstantEffect.STORED, -1e9)]),
        ("h.clamp(-1e6, max=1e6)", [(ConstantEffect.LOWER, -1e6), (ConstantEffect.UPPER, 1e6)]),
        ("h.clamp_max(5)", [(ConstantEffect.UPPER, 5.0)]),
        ("torch.where(data > 0, 1e9, h)", [(ConstantEffect.CHOSEN, 1e9)]),
        ("h + 1e-8", [(ConstantEffect.ADDED, 1e-8)]),
        ("h.add_(1e-8)", [(ConstantEffect.ADDED, 1e-8)]),
        ("h += EPS", [(ConstantEffect.ADDED, 1e-12)]),
        ("h.float() + 1e-8", []),
        ("torch.full((2,), 7, dtype=torch.float16)", [(ConstantEffect.FILLED, 7.0)]),
        ("torch.full((2,), 7)", []),
    ],
)
def test_constants_that_meet_half_tensors(statement: str, found: list[tuple[ConstantEffect, float]]) -> None:
    dtypes = flow(f"""
        EPS = 1e-12
        lin, data = nn.Linear(8, 8), load()
        with torch.autocast("cuda", dtype=torch.float16):
            h = lin(data)
            {statement}
    """)
    assert [(each.use, each.value) for each in dtypes.constants] == found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.tensor(5.0).to(lin(data))", True),
        ("(data == param).sum(-1).to(lin(data))", True),
        ("torch.tensor([[5]]).half() - (data == param).sum(-1, keepdim=True).half()", True),
        ("torch.tensor(5.0, requires_grad=True).half()", False),
        ("lin(data).sum(-1).half()", False),
        ("torch.tensor(5.0).half() - lin(data)", False),
    ],
)
def test_no_gradient_flows_to_counts_and_copies(expression: str, expected: bool) -> None:
    assert logged(f"torch.log({expression})").detached is expected


def test_a_sum_of_truth_values_is_an_integer() -> None:
    """In a region, too, which casts floating point alone."""
    assert logged("torch.log((data == param).sum(-1))").dtype == "int"
