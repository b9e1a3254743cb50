"""What AMP211 says of a binary cross entropy of float16 logits and float32 targets, by PyTorch itself."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("reduction", "scale", "widened", "is_finite"),
    [
        ("mean", 65536.0, False, False),
        ("mean", 65536.0, True, True),
        ("mean", 32768.0, False, True),
        ("none", 65536.0, False, True),
    ],
)
def test_the_mean_divides_what_was_scaled_in_float16(
    reduction: str, scale: float, widened: bool, is_finite: bool
) -> None:
    logits = torch.full((1000,), 12.0, dtype=torch.float16, requires_grad=True)
    given = logits.float() if widened else logits
    loss = torch.nn.functional.binary_cross_entropy_with_logits(given, torch.zeros(1000), reduction=reduction).mean()
    assert loss.dtype == torch.float32
    (loss * scale).backward()
    assert logits.grad is not None and bool(torch.isfinite(logits.grad).all()) is is_finite
