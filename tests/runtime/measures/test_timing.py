"""How products are timed: what is multiplied, in which order, and when a difference counts. The GPU is in `test_cuda`."""

from __future__ import annotations

import pytest
from checkout import ROOT

from amplint.rule import File
from amplint.runtime.devices import CPU, EMULATED
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, REFUTED
from amplint.source import Source
from amplint.syntax.tree import Tree

torch = pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.measures.linear_products import (  # noqa: E402
    ASSUMED,
    LinearSizes,
    Operands,
    first_region_dtype,
    judge_times,
    resized_layers,
    time_products,
)
from amplint.runtime.measures.timing import ROUNDS, Times, in_turns, spread  # noqa: E402

FIXTURES = ROOT / "fixtures" / "amp401_misaligned_linear"
FIXED = sorted(path.name.replace(".fixed.py", "") for path in FIXTURES.glob("*.fixed.py"))
LEAST = 0.02


def read(name: str) -> File:
    return parsed((FIXTURES / f"{name}.py").read_text("utf-8"))


def parsed(text: str) -> File:
    return File(Tree(Source("model.py", text)), (2, 4))


# -- what is multiplied ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIXED)
def test_the_layers_that_a_fix_resizes_are_found_and_end_up_aligned(name: str) -> None:
    standing, resized = resized_layers(read(name), read(f"{name}.fixed"))
    assert len(standing) == len(resized) >= 1
    for old, new in zip(standing, resized):
        assert old != new and old.fan_in <= new.fan_in < old.fan_in + 8 and old.fan_out <= new.fan_out < old.fan_out + 8
        for before, after in ((old.fan_in, new.fan_in), (old.fan_out, new.fan_out)):
            assert before == after or after % 8 == 0


def test_sizes_come_from_where_they_are_spelled_out_and_are_assumed_where_they_are_not() -> None:
    standing, resized = resized_layers(read("flagged_attribute_size"), read("flagged_attribute_size.fixed"))
    assert standing == [LinearSizes(ASSUMED, 1365), LinearSizes(1365, ASSUMED)]
    assert resized == [LinearSizes(ASSUMED, 1368), LinearSizes(1368, ASSUMED)]
    standing, resized = resized_layers(read("flagged_keywords"), read("flagged_keywords.fixed"))
    assert list(map(str, standing)) == ["512x190", "190x100"] and list(map(str, resized)) == ["512x192", "192x100"]


def test_files_with_other_layers_are_not_compared() -> None:
    assert resized_layers(read("flagged_keywords"), parsed("import torch\n")) == ([], [])


@pytest.mark.parametrize(
    ("region", "dtype"),
    [
        ('torch.autocast("cuda", dtype=torch.bfloat16)', "bfloat16"),
        ('torch.autocast("cuda", dtype=torch.float16)', "float16"),
        ('torch.autocast("cuda")', "float16"),
        ('torch.autocast("cuda", dtype=torch.bfloat16, enabled=False)', "float16"),
        ("contextlib.nullcontext()", "float16"),
    ],
)
def test_the_precision_is_that_of_the_region(region: str, dtype: str) -> None:
    text = f"import contextlib\nimport torch\n\ndef f(model, x):\n    with {region}:\n        return model(x)\n"
    assert first_region_dtype(parsed(text)) is getattr(torch, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_products_are_those_of_autograd(dtype: str) -> None:
    operands = Operands(LinearSizes(24, 50), getattr(torch, dtype), "cpu", seed=3, rows=40)
    operands.multiply()
    inputs, weight = (one.clone().requires_grad_() for one in (operands.inputs, operands.weight))
    outputs = torch.nn.functional.linear(inputs, weight)
    outputs.backward(operands.upstream)
    for made, wanted in (
        (operands.outputs, outputs),
        (operands.to_inputs, inputs.grad),
        (operands.to_weight, weight.grad),
    ):
        torch.testing.assert_close(made, wanted)


# -- when a difference counts ------------------------------------------------------------------------------------------


def test_two_clocks_are_read_in_turns() -> None:
    read: list[str] = []

    def clock(name: str, time: float) -> float:
        read.append(name)
        return time + len(read)  # a GPU that slows down

    times = in_turns(lambda: clock("before", 20.0), lambda: clock("after", 10.0), rounds=4)
    assert read == ["before", "after", "after", "before"] * 2
    assert times.before == (21, 24, 25, 28) and times.after == (12, 13, 16, 17)
    assert len(in_turns(lambda: 1.0, lambda: 1.0).before) == ROUNDS


def times(before: float, *after: float) -> Times:
    return Times((before,) * len(after), after)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (times(100.0, 70.0, 71.0, 69.0, 70.0, 72.0), CONFIRMED),
        (times(100.0, 100.0, 100.5, 99.5, 100.0, 100.1), NOT_OBSERVABLE),
        (times(100.0, 98.5, 98.5, 98.5, 98.5, 98.5), NOT_OBSERVABLE),  # always, but too little to care
        (times(100.0, 95.0, 60.0, 130.0, 80.0, 120.0), NOT_OBSERVABLE),  # some, but within the spread
        (times(100.0, 110.0, 111.0, 109.0, 110.0, 112.0), REFUTED),
    ],
)
def test_a_difference_counts_when_it_is_larger_than_its_spread_and_worth_it(measured: Times, verdict: str) -> None:
    outcome = judge_times(measured, {"rows": 8192}, LEAST)
    assert outcome.verdict == verdict
    assert (outcome.reason == "") == (verdict == CONFIRMED)
    assert outcome.before["median"] == 100.0 and outcome.reference == {"rows": 8192}
    assert outcome.series == {"before": measured.before, "after": measured.after}


def test_the_numbers_are_told_when_they_do_not_confirm() -> None:
    outcome = judge_times(times(100.0, 99.0, 99.0, 99.0, 99.0), {}, LEAST)
    assert outcome.reason == (
        "the difference is too small to tell: median 100.00 -> 99.00 us, saved 1.0% with a spread of 0.0%"
    )


def test_drift_that_both_share_is_no_spread() -> None:
    drifting = Times((100.0, 120.0, 140.0, 160.0), (70.0, 84.0, 98.0, 112.0))
    assert spread(drifting.before) == pytest.approx(30.0)
    assert drifting.saved(LEAST) is True


@pytest.mark.parametrize("device", [CPU, EMULATED])
def test_without_a_gpu_there_is_nothing_to_see(device: str) -> None:
    outcome = time_products(read("flagged_keywords"), read("flagged_keywords.fixed"), device, 0, LEAST)
    assert (outcome.verdict, outcome.reason) == (NOT_OBSERVABLE, "the time that Tensor Cores take is measured on a GPU")
