"""What `scaler.step` does to a pass that nothing has scaled: behind `unscale_` nothing, without it the gradients are divided."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("unscales", "expected"), [(True, 2.0), (False, 1.0 + 1 / 65536)])
def test_a_plain_pass_counts_as_much_as_the_scaled_one_where_unscale_has_run(unscales: bool, expected: float) -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler("cpu", init_scale=65536.0)
    scaler.scale(weight.sum()).backward()
    if unscales:
        scaler.unscale_(optimizer)
    weight.sum().backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == pytest.approx(-expected, rel=1e-9)
