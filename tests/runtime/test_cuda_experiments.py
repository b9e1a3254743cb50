"""The experiments of `test_cuda`, on a CPU: what they say here is known, so they can be trusted there."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the experiments need torch: pip install 'amplint[verify]'")

import cuda_experiments as lab  # noqa: E402
from cuda_experiments import BFLOAT, CPU, HALF  # noqa: E402

from amplint.runtime.devices import EMULATED  # noqa: E402
from amplint.runtime.emulation.cuda_table import registered_overloads, runs_on_cpu  # noqa: E402
from amplint.runtime.verdict import NOT_OBSERVABLE  # noqa: E402


@pytest.mark.parametrize("by", lab.INDICES)
def test_a_cpu_takes_a_constant_too_large_for_an_index_assignment(by: str) -> None:
    assert lab.assigned(CPU, by) == -math.inf


def test_arithmetic_in_float16() -> None:
    quotient = lab.divided(CPU)
    assert (quotient.dtype, float(quotient)) == (HALF, 0.0)
    assert lab.masked(CPU) == [-math.inf, -0.0]
    assert set(lab.subnormals(CPU).values()) == {2.0**-24}


@pytest.mark.parametrize("name", lab.MISMATCHED)
def test_operands_that_do_not_match_are_refused(name: str) -> None:
    assert lab.mismatch(CPU, name).startswith("RuntimeError: ")


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_every_operation_that_is_registered_answers_in_an_emulated_region() -> None:
    names = [name for name in registered_overloads() if runs_on_cpu(name)]
    refused = {name for name in names if lab.result_dtypes(CPU, name, HALF, HALF) == "refused"}
    assert refused == {"binary_cross_entropy"}
    assert lab.result_dtypes(CPU, "linear", BFLOAT, torch.float32) == [BFLOAT]
    assert lab.recurrent_dtypes(CPU, "LSTM", BFLOAT) == {BFLOAT}


@pytest.mark.parametrize("dtype", [HALF, BFLOAT], ids=str)
def test_a_backward_pass_inside_a_region_is_cast_to_its_precision(dtype: object) -> None:
    assert lab.dtype_of_backward_inside(CPU, dtype) is dtype


@pytest.mark.parametrize("overflow", [False, True], ids=["clean", "overflow"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_a_fused_step_is_called_also_after_an_overflow_and_moves_nothing_then(optimizer: str, overflow: bool) -> None:
    step = lab.fused_step(CPU, optimizer, overflow)
    assert (step.moved, step.hook_calls, step.scale) == (not overflow, 1, 32768.0 if overflow else 65536.0)
    assert step.gradient == ([math.inf, 131072.0, 196608.0] if overflow else [1.0, 2.0, 3.0])
    assert step.steps_in_state == ([] if optimizer == "SGD" else [0.0 if overflow else 1.0])


def test_a_fused_step_takes_half_gradients() -> None:
    assert lab.fused_step(CPU, "Adam", False, half=True).moved


def test_the_recorder_is_given_something_to_see() -> None:
    right, wrong = lab.recorded(CPU, unscales=True), lab.recorded(CPU, unscales=False)
    assert (right.hazards, right.skipped) == ([], [False, True, False])
    assert (wrong.hazards, wrong.skipped) == (["clip-before-unscale"], [False, True, False])
    assert right.norms == pytest.approx([1.0, 1.0], rel=1e-3)
    assert wrong.norms[0] == pytest.approx(1 / 1024, rel=1e-3)


def test_verdicts_of_a_run_go_by_finding(tmp_path: Path) -> None:
    chosen = lab.one_fixture_of_each_rule()
    assert len({path.parent for path in chosen}) == len(chosen) > 8
    (path,) = (path for path in chosen if path.parent.name.startswith("amp401"))
    found = lab.verdicts(lab.evidence(EMULATED, [path], tmp_path))
    assert set(found.values()) == {NOT_OBSERVABLE} and all(name.endswith(" AMP401") for name in found)


def test_a_profiler_names_what_ran() -> None:
    ones = torch.ones(8, 8)
    assert "aten::mm" in lab.kernel_names(lambda: ones @ ones, torch.autograd.DeviceType.CPU)
