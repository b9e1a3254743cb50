"""The dtype flow through objects, containers and calls."""

from __future__ import annotations

import pytest
from dtype_flow import flow, logged, logged_in_call, operations


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


def test_recursion_generators_and_size_end() -> None:
    body = "\n".join(f"    if f{n}: x = x + {n}\n    else: x = g(x)" for n in range(60))
    dtypes = flow(f"def g(x):\n{body}\n    return g(x)\n\nasync def h(x):\n    yield g(x)\n    torch.log(x @ x)\n")
    assert len(dtypes.operations) < 5_000


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


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("out = [None] * 3\nfor k in range(3):\n    out[k] = lin(data)\ntorch.log(out[1])", "float16"),
        ("out = [None] * 2\nout[0] = lin(data)\nout[1] = param\ntorch.log(out[0])", "float16"),
        ("out = [None] * 2\nout[1] = lin(data)\nout[0] = param\ntorch.log(out[0])", "float32"),
        ("out = [None] * 2\nout[1] = lin(data)\ntorch.log(out[0])", "?"),
        ("out = [lin(data)] * 2\nout[k] = param\ntorch.log(out[0])", "?"),
        ("out = [lin(data), param]\nout[0] = out[0].float()\ntorch.log(out[0])", "float32"),
        ("out = [lin(data), param]\nout[-1] = lin(data)\ntorch.log(out[1])", "?"),
        ("out = [lin(data)]\nout[7:9] = param\ntorch.log(out[0])", "float16"),
    ],
)
def test_lists_hold_what_was_stored_last(code: str, dtype: str) -> None:
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


@pytest.mark.parametrize(
    ("bases", "body", "dtype"),
    [
        ("nn.Linear", "pass", "float16"),
        ("nn.LayerNorm", "pass", "float32"),
        ("nn.Hardtanh", "def __repr__(self): return ''", "?"),
        ("nn.Linear", "def forward(self, x): return super().forward(x).float()", "float32"),
        ("Mixin, nn.Linear", "pass", "?"),
        ("nn.Module", "pass", "?"),
    ],
)
def test_a_class_without_a_forward_runs_as_the_layer_that_it_derives_from(bases: str, body: str, dtype: str) -> None:
    dtypes = flow(f"""
        from library import Mixin

        class Part({bases}):
            {body}

        def main(data):
            part = Part(8, 8)
            with torch.autocast("cuda", dtype=torch.float16):
                torch.log(part(data))
    """)
    (log,) = operations(dtypes, "log")
    assert log.operand.dtype == dtype
