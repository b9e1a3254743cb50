"""Why an operation gave inf or NaN: the words for each cause."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

from torch.utils._pytree import tree_leaves  # noqa: E402

from amplint.tracing.explanations import exact_results, why_not_finite  # noqa: E402

LOST = " in float16, in which everything below 2.98e-08 is zero"

aten = torch.ops.aten


def half(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float16)


CASES = {
    "overflow": (aten.exp.default, (half(12.0),), "overflow: 1.628e+05 is beyond 65504, the largest float16", "AMP301"),
    "sum": (aten.sum.default, (half(60000.0, 60000.0),), "overflow: 1.2e+05 is beyond 65504, the largest float16", ""),
    "log": (aten.log.default, (half(0.5, 0.0),), f"the logarithm of zero{LOST}", "AMP301"),
    "wide log": (aten.log.default, (torch.tensor([0.0]),), "the logarithm of zero", "AMP301"),
    "division": (aten.div.Tensor, (half(1.0), half(0.0)), f"a division by zero{LOST}", "AMP302"),
    "0/0": (aten.div.Tensor, (torch.zeros(1), torch.zeros(1)), "0/0", ""),
    "number": (aten.div.Tensor, (torch.ones(1), 0), "a division by zero", ""),
    "root": (aten.sqrt.default, (torch.tensor([-1.0]),), "the root of a negative number (-1)", ""),
    "wide": (aten.exp.default, (torch.tensor([1e6]),), "overflow: the result is beyond 3.40282e+38", "AMP301"),
    "power": (aten.pow.Tensor_Scalar, (torch.zeros(1), -0.5), "zero to the power of -0.5: a division by zero", ""),
    "direction": (
        aten._weight_norm_interface.default, (torch.zeros(2, 3), torch.ones(2, 1)), "0/0: a weight of norm zero", "",
    ),
    "determinant": (aten._linalg_slogdet.default, (torch.zeros(2, 2),), "the logarithm of a determinant that is zero", ""),
    "log1p": (aten.log1p.default, (torch.tensor([-1.0]),), "the logarithm of zero", ""),
    "negative": (aten.log.default, (torch.tensor([-2.0]),), "the logarithm of a negative number (-2)", ""),
    "nothing": (aten.mean.default, (torch.empty(0),), "the mean of nothing", ""),
    "masked": (aten._softmax.default, (torch.tensor([-torch.inf]), 0, False), "operand 1 is infinite: a softmax over", ""),
    "operand": (aten.add.Tensor, (torch.ones(1), torch.tensor([float("inf")])), "operand 2 is not finite already", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_causes(case: str) -> None:
    call, args, why, rule = CASES[case]
    result = call(*args)
    (result,) = [one for one in tree_leaves(result) if not torch.isfinite(one).all()]
    reason = why_not_finite(call.overloadpacket.__name__, call, args, {}, result)
    assert reason.why.startswith(why)
    assert reason.rule == rule


def test_the_program_goes_on_as_if_it_had_not_been_asked() -> None:
    weights, state = [torch.ones(3, dtype=torch.float64)], torch.get_rng_state()
    exact_results(aten._foreach_add_.Scalar, (weights, 1.0), {})
    assert weights[0].tolist() == [1.0, 1.0, 1.0]
    assert exact_results(aten.bernoulli_.float, (torch.zeros(3), 0.5), {}) == []
    assert torch.equal(torch.get_rng_state(), state)
