"""The one table of operations: what it holds, and what is asked of it."""

from __future__ import annotations

from collections import Counter

import pytest

from amplint.model.torch import operators
from amplint.model.torch.layers import LAYERS
from amplint.model.torch.operators import OPERATORS, Kind, Policy, layers_of, of_kind, policy


def test_each_operation_stands_once() -> None:
    names = Counter(each.name for each in operators._operators())
    assert [name for name, count in names.items() if count > 1] == []
    assert set(operators._RANGES) | set(LAYERS.values()) | operators._MPS_UNLISTED <= OPERATORS.keys()


@pytest.mark.parametrize(
    ("op", "kind", "cuda", "cpu", "mps"),
    [
        ("matmul", Kind.PRODUCT, Policy.LOWER, Policy.LOWER, Policy.LOWER),
        ("exp", Kind.ELEMENTWISE, Policy.FLOAT32, Policy.UNLISTED, Policy.FLOAT32),
        ("softmax", Kind.ALONG, Policy.FLOAT32_RESULT, Policy.UNLISTED, Policy.FLOAT32_RESULT),
        ("mean", Kind.EXTREME, Policy.UNLISTED, Policy.UNLISTED, Policy.UNLISTED),
        ("cat", Kind.ARRANGE, Policy.UNLISTED, Policy.PROMOTE, Policy.UNLISTED),
        ("batch_norm", Kind.ALONG, Policy.UNLISTED, Policy.UNLISTED, Policy.FLOAT32),
        ("binary_cross_entropy", Kind.LOSS, Policy.BANNED, Policy.FLOAT32, Policy.UNLISTED),
    ],
)
def test_what_is_known(op: str, kind: Kind, cuda: Policy, cpu: Policy, mps: Policy) -> None:
    assert op in of_kind(kind)
    assert [policy(op, device) for device in ("cuda", "cpu", "mps", "hpu")] == [cuda, cpu, mps, None]


def test_bounds_and_layers() -> None:
    assert OPERATORS["sigmoid"].range == (0.0, 1.0)
    assert {"Linear", "Bilinear"} <= layers_of(Kind.PRODUCT)
    assert "GaussianNLLLoss" in layers_of(Kind.LOSS)
