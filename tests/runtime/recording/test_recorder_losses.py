"""The runtime witness, against real torch: schedulers, losses, gradients in the program's hands."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from amplint.model.events import (
    Backward,
    GradAccess,
    SchedulerStep,
    ZeroGrad,
)  # fmt: skip

torch = pytest.importorskip("torch", reason="the recorder needs torch: pip install 'amplint[verify]'")

from torch.nn.utils import clip_grad_norm_  # noqa: E402
from watched_training import Training, events, kinds, line, scaled_step  # noqa: E402

from amplint.runtime.recording.recorder import Recorder  # noqa: E402

# -- schedulers --------------------------------------------------------------------------------------------------------


def test_a_scheduler_that_advances_with_a_skipped_step() -> None:
    training = Training()
    with Recorder() as recording:
        for overflow in (False, True, False):
            scaled_step(training, overflow)
            training.scheduler.step()  # not gated
    (hazard,) = recording.hazards
    assert (hazard.kind, hazard.place.line, hazard.times) == ("scheduler-not-gated", line("not gated"), 1)


def test_nothing_is_skipped_nothing_is_wrong() -> None:
    training = Training()
    with Recorder() as recording:
        for _ in range(3):
            scaled_step(training)
            training.scheduler.step()
    assert recording.hazards == ()


def test_a_scheduler_per_epoch_does_not_mind_a_skipped_step() -> None:
    training = Training()
    with Recorder() as recording:
        for _ in range(2):
            scaled_step(training)
            scaled_step(training, overflow=True)
            training.scheduler.step()
    assert recording.hazards == ()


def test_schedulers_inside_schedulers_are_one() -> None:
    training = Training()
    parts = [torch.optim.lr_scheduler.ExponentialLR(training.optimizer, 0.9) for _ in range(2)]
    with Recorder() as recording:
        chained = torch.optim.lr_scheduler.ChainedScheduler(parts)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(training.optimizer)
        scaled_step(training)
        chained.step()
        plateau.step(1.0)
    (step,) = events(recording, SchedulerStep)
    assert step.values["lr"] == pytest.approx((0.1 * 0.9 * 0.9,))


# -- how a loss came about ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compute", "scaler"),
    [
        (lambda loss, scaled, s: loss, ""),
        (lambda loss, scaled, s: scaled / 4, "scaler#1"),
        (lambda loss, scaled, s: (2 * scaled).clone().view(1), "scaler#1"),
        (lambda loss, scaled, s: scaled + loss, "scaler#1"),
        (lambda loss, scaled, s: torch.stack([scaled, scaled]).sum(), "scaler#1"),
        (lambda loss, scaled, s: s.scale([loss, loss])[1], "scaler#1"),
        (lambda loss, scaled, s: next(iter(s.scale(each for each in [loss]))), "scaler#1"),
        (lambda loss, scaled, s: s.scale(scaled.square()), "scaler#1"),
        # What cannot be told: the scale taken out again, put in by hand, bent.
        (lambda loss, scaled, s: scaled / s.get_scale(), "?"),
        (lambda loss, scaled, s: loss * s.get_scale(), "?"),
        (lambda loss, scaled, s: scaled.square(), "?"),
        (lambda loss, scaled, s: loss * 0.5, ""),
    ],
)
def test_the_graph_says_what_is_scaled(compute: Callable[..., Any], scaler: str) -> None:
    training = Training()
    with Recorder() as recording:
        scaled = training.scaler.scale(loss := training.loss())
        value = compute(loss, scaled, training.scaler)
        del scaled
        gc.collect()
        value.backward()
    (backward,) = events(recording, Backward)
    assert backward.values["scaler"] == scaler


@pytest.mark.parametrize(
    ("gradient", "scaler"),
    [
        (lambda s, grad: s.scale(grad), "scaler#1"),
        (lambda s, grad: torch.tensor(2.0), ""),
    ],
)
def test_a_scaled_gradient_scales_a_backward_pass(gradient: Callable[..., Any], scaler: str) -> None:
    training = Training()
    with Recorder() as recording:
        loss = training.loss()
        loss.backward(gradient=gradient(training.scaler, torch.ones(())))
        again = training.loss()
        torch.autograd.backward([again], grad_tensors=[gradient(training.scaler, torch.ones(()))])
    assert [each.values["scaler"] for each in events(recording, Backward)] == [scaler, scaler]


def test_in_place_division_keeps_the_scale() -> None:
    training = Training()
    with Recorder() as recording:
        scaled = training.scaler.scale(training.loss())
        scaled /= 2
        scaled.backward()
        clip_grad_norm_(training.model.parameters(), 1.0)
    assert kinds(recording) == {"clip-before-unscale"}


def test_two_scalers_in_one_loss_cannot_be_told() -> None:
    training, other = Training(), torch.amp.GradScaler("cpu")
    with Recorder() as recording:
        loss = training.loss()
        (training.scaler.scale(loss) + other.scale(loss)).backward()
    assert events(recording, Backward)[0].values["scaler"] == "?"


def test_autograd_grad_is_no_backward_pass() -> None:
    training = Training()
    with Recorder() as recording:
        torch.autograd.grad(training.scaler.scale(training.loss()), list(training.model.parameters()))
        torch.autograd.backward([training.scaler.scale(training.loss())])
    names = [type(recorded.event).__name__ for recorded in recording.events]
    assert names == ["Scale", "Assign", "Scale", "Backward"]
    assert recording.events[1].values["norm"] == pytest.approx(recording.events[3].values["norm"])


def _penalty(training: Training, by: Callable[[Any], Any], scaled: bool = True) -> Any:
    """A float16 loss with a gradient in it, divided as told."""
    with torch.autocast("cpu", dtype=torch.float16):
        loss = training.loss()
    outputs = training.scaler.scale(loss) if scaled else loss
    inner = torch.autograd.grad(outputs, training.model[0].weight, create_graph=True)[0]
    return loss + by(inner).norm()


def test_inner_gradients_that_are_scaled_and_never_divided() -> None:
    training = Training()
    with Recorder() as recording:
        training.scaler.scale(_penalty(training, lambda inner: inner * 2.0)).backward()
    assert kinds(recording) == {"gradient-penalty-unscaled"}


@pytest.mark.parametrize("undo", [lambda scale, inner: inner / scale, lambda scale, inner: inner * (1.0 / scale)])
def test_inner_gradients_that_are_divided_by_the_scale(undo: Callable[[float, Any], Any]) -> None:
    training = Training()
    with Recorder() as recording:
        loss = _penalty(training, lambda inner: undo(training.scaler.get_scale(), inner))
        training.scaler.scale(loss).backward()
    assert kinds(recording) == set()


def test_inner_gradients_of_a_half_loss_that_nothing_scales() -> None:
    training = Training()
    with Recorder() as recording:
        training.scaler.scale(training.loss()).backward()
        training.scaler.scale(_penalty(training, lambda inner: inner, scaled=False)).backward()
    assert kinds(recording) == {"gradient-penalty-unscaled"}


# -- gradients in the program's hands ----------------------------------------------------------------------------------


def test_reading_gradients_is_one_access_per_line() -> None:
    training = Training()
    with Recorder() as recording:
        training.optimizer.zero_grad()
        training.scaler.scale(training.loss()).backward()
        total = sum(parameter.grad.norm() for parameter in training.model.parameters())  # read
        training.optimizer.step()
    assert total > 0
    (read,) = events(recording, GradAccess)
    assert read.event.writes is False and read.place.line == line("read")
    assert kinds(recording) == {"grad-read-before-unscale", "step-bypasses-scaler"}


@pytest.mark.parametrize("how", ["in place", "assigned"])
def test_changed_gradients_are_unknown(how: str) -> None:
    training = Training()
    with Recorder() as recording:
        training.optimizer.zero_grad()
        training.scaler.scale(training.loss()).backward()
        for parameter in training.model.parameters():
            if how == "in place":
                parameter.grad.mul_(1 / 1024)
            else:
                parameter.grad = parameter.grad / 1024
        training.optimizer.step()
    assert [access.event.writes for access in events(recording, GradAccess)][-1] is True
    assert recording.hazards == ()


def test_gradients_are_cleared_in_every_way() -> None:
    training = Training()

    def by_none() -> None:
        for parameter in training.model.parameters():
            parameter.grad = None

    for clear in (lambda: training.optimizer.zero_grad(), lambda: training.model.zero_grad(), by_none):
        with Recorder() as recording:
            training.optimizer.zero_grad()
            training.scaler.scale(training.loss()).backward()
            clear()
            training.loss().backward()
            training.optimizer.step()
        assert recording.hazards == ()
        assert len(events(recording, ZeroGrad)) == 2


# -- how a loss came about ---------------------------------------------------------------------------------------------


def test_a_loss_that_is_read_out_while_scaled() -> None:
    training = Training()
    with Recorder() as recording:
        loss = training.loss()
        scaled = training.scaler.scale(loss)
        shown = [loss.item(), scaled.item() / training.scaler.get_scale()]  # shown
        scaled.backward()
    assert shown[0] == pytest.approx(shown[1])
    assert [(hazard.kind, hazard.place.line) for hazard in recording.hazards] == [
        ("scaled-loss-reported", line("shown"))
    ]
