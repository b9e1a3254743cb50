"""The dtype flow: what is half, what bounds it, and what a loss is differentiated through."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from amplint.dtypes import ConstantEffect, Dtypes, Operation, Tensor
from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

HEADER = """\
import torch
import torch.nn.functional as F
from torch import nn
"""


def flow(code: str) -> Dtypes:
    """The flow of a module that imports torch the usual way."""
    return File(Tree(Source("test.py", HEADER + dedent(code))), (2, 3)).fact(Dtypes)


def logged(code: str, region: str = 'torch.autocast("cuda", dtype=torch.float16)') -> Tensor:
    """What the one `torch.log` of some statements meets, inside a region and with layers at hand."""
    setup = "lin = nn.Linear(8, 8)\nparam = nn.Parameter(torch.ones(8))\ndata = load()\n"
    found = operations(flow(f"{setup}with {region}:\n{indent(dedent(code), '    ')}"), "log")
    assert len(found) == 1
    return found[0].operand


def operations(dtypes: Dtypes, op: str) -> list[Operation]:
    """The evaluations of one kind of operation."""
    return [operation for operation in dtypes.operations if operation.op == op]


def in_loss(dtypes: Dtypes, operation: Operation) -> bool:
    """Whether a gradient that starts at a loss flows through an operation."""
    return operation in dtypes._flow.reached


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
        ("lin(data)", float("-inf"), float("inf")),
    ],
)
def test_bounds(expression: str, low: float, high: float) -> None:
    operand = logged(f"torch.log({expression})")
    assert (operand.low, operand.high) == (low, high)


def test_a_maximum_bounds_what_it_is_subtracted_from() -> None:
    assert logged("h = lin(data)\nm = h.amax(dim=1)\ntorch.log(h - m)").high == 0
    assert logged("h = lin(data)\nm = data.amax(dim=1)\ntorch.log(h - m)").high == float("inf")


def test_branches_that_disagree_leave_the_dtype_unknown() -> None:
    code = "h = lin(data)\nif widen:\n    h = h.float()\ntorch.log(h)"
    assert logged(code).dtype == "?"
    assert logged("h = lin(data)\nif widen:\n    raise ValueError\ntorch.log(h)").dtype == "float16"


def test_lost_epsilon_and_where_to_widen() -> None:
    dtypes = flow("""
        lin = nn.Linear(8, 8)
        with torch.autocast("cuda", dtype=torch.float16):
            logits = lin(load())
            p = torch.sigmoid(logits)
            torch.log(p + 1e-8)
            torch.log(p.float() + 1e-8)
    """)
    half, widened = (operation.operand for operation in operations(dtypes, "log"))
    assert half.lost is not None and half.lost.value == 1e-8
    assert half.cure is not None and half.cure.value == "logits"  # type: ignore[attr-defined]
    assert widened.lost is None
    assert widened.saturated is not None, "widening after the sigmoid does not undo its rounding"


def test_through_classes_helpers_tuples_and_attributes() -> None:
    dtypes = flow("""
        class Base(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(width, 8), nn.ReLU())

        class Net(Base):
            def __init__(self, width=4, *, heads=2):
                super().__init__(width)
                self.mean, self.scale = nn.Linear(8, 8), nn.LayerNorm(8)

            def split(self, h):
                return self.mean(h), self.scale(h)

            def forward(self, x):
                return self.split(self.body(x))

        def helper(values):
            mean, scale = values
            torch.log(mean)
            torch.log1p(scale)

        def main(loader):
            net = nn.DataParallel(Net().cuda())
            for x in loader:
                with torch.autocast("cuda", dtype=torch.float16):
                    helper(net(x))
    """)
    assert "float16" in {operation.operand.dtype for operation in operations(dtypes, "log")}
    assert "float32" in {operation.operand.dtype for operation in operations(dtypes, "log1p")}


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ("loss.backward()", True),
        ("scaler.scale(loss).backward()", True),
        ("scaler.scale(loss.mean() / 4).backward()", True),
        ("accelerator.backward(loss)", True),
        ("print(loss.item())", False),
        ("loss.detach().backward()", False),
        ("lin(loss).backward()", False),
    ],
)
def test_in_loss(use: str, reached: bool) -> None:
    dtypes = flow(f"""
        lin = nn.Linear(8, 8)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.log(lin(load())).mean()
        {use}
    """)
    (operation,) = operations(dtypes, "log")
    assert in_loss(dtypes, operation) is reached


def test_in_loss_by_construction() -> None:
    dtypes = flow("""
        class EdgeLoss(nn.Module):
            def forward(self, h):
                return torch.log(h)

        def measure(h):
            return torch.log10(h)

        def run(lin, x):
            criterion = EdgeLoss()
            with torch.autocast("cuda", dtype=torch.float16):
                h = x @ x
                with torch.no_grad():
                    criterion(h)
                return criterion(h), measure(h)
    """)
    half = [operation for operation in operations(dtypes, "log") if operation.operand.half]
    assert [in_loss(dtypes, operation) for operation in half] == [False, True]
    assert not any(in_loss(dtypes, operation) for operation in operations(dtypes, "log10"))


def test_recursion_generators_and_size_end() -> None:
    body = "\n".join(f"    if f{n}: x = x + {n}\n    else: x = g(x)" for n in range(60))
    dtypes = flow(f"def g(x):\n{body}\n    return g(x)\n\nasync def h(x):\n    yield g(x)\n    torch.log(x @ x)\n")
    assert len(dtypes.operations) < 5_000


def test_silent_without_a_float16_region() -> None:
    dtypes = flow("""
        def loss(x):
            return torch.log(torch.sigmoid(nn.Linear(8, 8)(x)) + 1e-8)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss(load()).backward()
    """)
    assert dtypes.loss_hazards == ()


def test_generators_are_followed_and_give_nothing_known() -> None:
    dtypes = flow("""
        def steps(x):
            with torch.autocast("cuda", dtype=torch.float16):
                h = x @ x
                loss = torch.log(h).mean()
            loss.backward()
            yield h

        def main(x):
            for h in steps(x):
                torch.log10(h)
    """)
    assert any(in_loss(dtypes, operation) for operation in operations(dtypes, "log"))
    assert {operation.operand.dtype for operation in operations(dtypes, "log10")} == {"?"}


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


def test_who_makes_and_who_uses_a_value() -> None:
    dtypes = flow("""
        lin = nn.Linear(8, 8)
        with torch.autocast("cuda", dtype=torch.float16):
            p = lin(load()).view(-1).softmax(-1)
            torch.log(p.squeeze())
            unknown(p)
    """)
    (log,) = operations(dtypes, "log")
    assert log.operand.maker is not None and log.operand.maker.op == "softmax"
    assert [each.op for each in dtypes.users(log.operand.maker.node)] == ["squeeze", "log", "call"]


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("out = {}\nout['a'] = lin(data)\ntorch.log(out['a'])", "float16"),
        ("out = {'a': lin(data)}\nout['a'] = out['a'].float()\ntorch.log(out['a'])", "float32"),
        ("out = {'a': lin(data)}\nout[key] = data\ntorch.log(out['a'])", "?"),
        ("out = {'a': lin(data)}\nout.update(a=param)\ntorch.log(out['a'])", "float32"),
        ("out = {'a': lin(data)}\nout.update(others)\ntorch.log(out['a'])", "?"),
        ("out = {'a': lin(data)}\nif aux:\n    out['b'] = lin(data)\ntorch.log(out['b'])", "float16"),
        ("out = {'a': lin(data)}\nif aux:\n    out = {'a': param}\ntorch.log(out['a'])", "?"),
    ],
)
def test_dictionaries_hold_what_was_stored_last(code: str, dtype: str) -> None:
    assert logged(code).dtype == dtype


def test_objects_with_named_fields() -> None:
    classes = """
        from dataclasses import dataclass
        @dataclass
        class Output:
            logits: torch.Tensor
            mask: torch.Tensor = None
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(8, 8)
            def forward(self, x):
                return Output(self.lin(x), mask=x)
        def train(x):
            with torch.autocast("cuda"):
                out = Model()(x)
            torch.log(out.logits)
            torch.exp(out.mask)
    """
    assert {each.operand.dtype for each in operations(flow(classes), "log")} == {"float16"}
    assert {each.operand.dtype for each in operations(flow(classes), "exp")} == {"?"}


def test_an_object_made_of_the_same_things_again_is_not_evaluated_again() -> None:
    layers = "\n".join(f"        self.layer{index} = nn.Linear(8, 8)" for index in range(300))
    made = "\n".join(f"    model{index} = Model()" for index in range(60))
    code = f"class Model(nn.Module):\n    def __init__(self):\n{layers}\n\n\ndef train(data):\n{made}\n"
    code += '    with torch.autocast("cuda", dtype=torch.float16):\n        return torch.log(model59.layer0(data))\n'
    assert [each.operand.dtype for each in operations(flow(code), "log")] == ["float16"]


def test_objects_made_of_the_same_things_are_several() -> None:
    code = """
    class Model(nn.Module):
        def __init__(self):
            self.layer, self.kept = nn.Linear(8, 8), nn.Parameter(torch.ones(8))

    def train(data):
        with torch.autocast("cuda", dtype=torch.float16):
            one = Model()
            one.kept = one.layer(data)
            other = Model()
            return torch.log(one.kept) + torch.exp(other.kept)
    """
    dtypes = flow(code)
    assert [each.operand.dtype for each in operations(dtypes, "log")] == ["?"]
    assert [each.operand.dtype for each in operations(dtypes, "exp")] == ["float32"]


@pytest.mark.parametrize(
    ("parameters", "given", "meets", "dtype"),
    [
        ("a, b", "**out", "a", "float16"),
        ("b, **rest", "**out", "rest['a']", "float16"),
        ("b, **rest", "**out", "rest['b']", "?"),
        ("b, **rest", "data, a=out['a']", "rest['a']", "float16"),
        ("a, b", "**{**out, 'a': out['a'].float()}", "a", "float32"),
        ("a, b, c=data", "**out", "c", "?"),
        ("a, b, c", "*out.values(), param", "c", "?"),
        ("a, *rest", "param, out['a'], param", "rest[0]", "float16"),
        ("a, *rest", "param, out['a'], param", "rest[1]", "float32"),
        ("a, *rest", "*out.values(), param", "rest[0]", "?"),
    ],
)
def test_arguments_that_are_unpacked(parameters: str, given: str, meets: str, dtype: str) -> None:
    code = f"""
    def loss({parameters}):
        return torch.log({meets})
    out = {{"a": lin(data), "b": lin(data).float()}}
    loss({given})
    """
    assert logged_in_call(code).dtype == dtype


def logged_in_call(code: str) -> Tensor:
    """What `torch.log` meets in a function, as the last call of it gives its arguments."""
    setup = "lin = nn.Linear(8, 8)\nparam = nn.Parameter(torch.ones(8))\ndata = load()\n"
    region = 'with torch.autocast("cuda", dtype=torch.float16):\n'
    return operations(flow(f"{setup}{region}{indent(dedent(code), '    ')}"), "log")[0].operand
