"""In which power of the loss scale gradients and losses are shown."""

from __future__ import annotations

import pytest

from amplint.runtime.replay.shown_units import wrong_gradients, wrong_units

HEAD = "def train(model, loss, scaler, optimizer, log):\n    scaler.scale(loss).backward()\n"


def told(*lines: str) -> list[str]:
    return wrong_units(HEAD + "".join(f"    {line}\n" for line in lines), 2)


NORM = "total = sum(p.grad.pow(2).sum().item() for p in model.parameters())"


@pytest.mark.parametrize(
    "lines, power",
    [
        ((NORM, "log(total ** 0.5)"), "1"),
        ((NORM, "log(total / scaler.get_scale())"), "1"),
        ((NORM, "scaler.step(optimizer)", "log(total ** 0.5 / scaler.get_scale() ** 2)"), "-1"),
        (("scaler.unscale_(optimizer)", NORM, "log(total ** 0.5 / scaler.get_scale())"), "-1"),
        (("log(model.weight.grad.norm())",), "1"),
        (("log({'norm': model.weight.grad.norm()})",), "1"),
        (("scaled = scaler.scale(loss)", "log(scaled.item() / scaler.get_scale() / scaler.get_scale())"), "-1"),
    ],
)
def test_a_power_that_is_left_is_told(lines: tuple[str, ...], power: str) -> None:
    (said,) = told(*lines)
    assert said.endswith(f"with the loss scale to the power of {power} in it")


@pytest.mark.parametrize(
    "lines",
    [
        (NORM, "log(total ** 0.5 / scaler.get_scale())"),
        (NORM, "log(total / scaler.get_scale() ** 2)"),
        ("scaler.unscale_(optimizer)", NORM, "log(total ** 0.5)"),
        ("scaler.step(optimizer)", "log(model.weight.grad.norm())"),
        ("inverse = 1.0 / scaler.get_scale()", "log(model.weight.grad.norm() * inverse)"),
        ("log(loss.item())",),
        ("keep(model.weight.grad)", "log(unknown(model.weight.grad) / scaler.get_scale())"),
        (NORM, "if math.isfinite(total): scaler.step(optimizer)"),
    ],
)
def test_what_is_right_or_not_known_is_not(lines: tuple[str, ...]) -> None:
    assert told(*lines) == []


def taken(*lines: str) -> list[str]:
    return wrong_gradients(HEAD + "".join(f"    {line}\n" for line in lines), 2)


BY_HAND = "for p in model.parameters(): p.grad.div_(scaler.get_scale())"


@pytest.mark.parametrize(
    "lines, power",
    [
        (("clip_grad_norm_(model.parameters(), 1.0 / scaler.get_scale())",), "-1"),
        (("scaler.unscale_(optimizer)", "clip_grad_norm_(model.parameters(), scaler.get_scale() * 2)"), "1"),
        (("limit = scaler.get_scale() ** 2", "clip_grad_value_(model.parameters(), clip_value=limit)"), "2"),
        ((BY_HAND, "scaler.step(optimizer)"), "-1"),
        ((BY_HAND, "scaler.unscale_(optimizer)", "scaler.step(optimizer)"), "-1"),
        (("for p in model.parameters(): p.grad *= scaler.get_scale()", "optimizer.step()"), "2"),
        (("for p in model.parameters(): p.grad = p.grad / scaler.get_scale() ** 2", "optimizer.step()"), "-1"),
    ],
)
def test_a_limit_or_a_step_with_another_power_is_told(lines: tuple[str, ...], power: str) -> None:
    (said,) = taken(*lines)
    assert f"with the loss scale to the power of {power} in " in said


@pytest.mark.parametrize(
    "lines",
    [
        ("clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())", "scaler.step(optimizer)"),
        ("scaler.unscale_(optimizer)", "clip_grad_norm_(model.parameters(), 1.0)", "scaler.step(optimizer)"),
        ("unscale_elsewhere(optimizer)", "clip_grad_norm_(model.parameters(), 1.0)", "scaler.step(optimizer)"),
        (BY_HAND, "clip_grad_norm_(model.parameters(), 1.0)", "optimizer.step()"),
        (BY_HAND, "for p in model.parameters(): p.grad.mul_(scaler.get_scale())", "scaler.step(optimizer)"),
        (BY_HAND, "scaler.step(other)", "optimizer.step()"),
        ("for p in model.parameters(): p.grad.div_(world_size)", "scaler.step(optimizer)"),
    ],
)
def test_a_limit_in_the_unit_of_the_gradients_and_what_is_not_known_is_not(lines: tuple[str, ...]) -> None:
    assert taken(*lines) == []
