"""The runtime witness, against real torch: optimizers, scalers, regions and closures of every kind."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplint.model.events import (
    AutocastEnter,
    AutocastExit,
    Backward,
    Checkpoint,
    OptimizerStep,
    ScalerStep,
)  # fmt: skip

torch = pytest.importorskip("torch", reason="the recorder needs torch: pip install 'amplint[verify]'")

from torch.nn.utils import clip_grad_norm_  # noqa: E402
from watched_training import Training, events, kinds, line, scaled_step  # noqa: E402

from amplint.runtime.recording.call_sites import SourceLine  # noqa: E402
from amplint.runtime.recording.recorder import Recorder  # noqa: E402


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad])
def test_fused_optimizers_get_true_gradients(make: Callable[..., Any]) -> None:
    training = Training(lambda parameters, lr: make(parameters, lr=lr, fused=True))
    with Recorder() as recording:
        for overflow in (False, True):
            training.optimizer.zero_grad()
            training.scaler.scale(training.loss(overflow)).backward()
            training.scaler.step(training.optimizer)
            training.scaler.update()
            training.scheduler.step()
    first, second = events(recording, ScalerStep)
    assert first.values["norm"] == pytest.approx(events(recording, Backward)[0].values["norm"] / 1024)
    assert (first.values["skipped"], second.values["skipped"]) == (False, True)
    assert kinds(recording) == {"scheduler-not-gated"}


def test_several_optimizers_are_told_apart_by_what_the_backward_pass_reaches() -> None:
    one, two = Training(), Training()
    with Recorder() as recording:
        for _ in range(2):
            one.optimizer.zero_grad()
            one.scaler.scale(one.loss()).backward()
            two.optimizer.zero_grad()
            two.loss().backward()
            two.optimizer.step()  # plain: never scaled
            clip_grad_norm_(two.model.parameters(), 1.0)
            clip_grad_norm_(one.model.parameters(), 1.0)  # of one
            one.scaler.step(one.optimizer)
            one.scaler.update()
    (hazard,) = recording.hazards
    assert (hazard.place.line, hazard.optimizer) == (line("of one"), "optimizer#1")


def test_one_scaler_for_two_optimizers_with_one_update() -> None:
    one, two = Training(), Training()
    with Recorder() as recording:
        for overflow in (False, True, False):
            for training in (one, two):
                training.optimizer.zero_grad()
            one.scaler.scale(one.loss(overflow) + two.loss()).backward()
            for training in (one, two):
                one.scaler.unscale_(training.optimizer)
                clip_grad_norm_(training.model.parameters(), 1.0)
                one.scaler.step(training.optimizer)
            one.scaler.update()
    assert recording.hazards == ()
    assert [step.values["skipped"] for step in events(recording, ScalerStep)] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]


def test_two_scalers_are_judged_apart() -> None:
    one, two = Training(), Training()
    with Recorder() as recording:
        for _ in range(2):
            scaled_step(one)
            two.optimizer.zero_grad()
            two.scaler.scale(two.loss()).backward()
            two.optimizer.step()
    (hazard,) = recording.hazards
    assert (hazard.kind, hazard.scaler, hazard.optimizer) == ("step-bypasses-scaler", "scaler#2", "optimizer#2")


def test_a_disabled_scaler_scales_nothing() -> None:
    training = Training(enabled=False)
    with Recorder() as recording:
        for overflow in (False, True):
            training.optimizer.zero_grad()
            training.scaler.scale(training.loss(overflow)).backward()
            clip_grad_norm_(training.model.parameters(), 1.0)
            training.scaler.step(training.optimizer)
            training.scaler.update()
            training.scheduler.step()
    assert recording.hazards == ()
    assert events(recording, Backward)[0].values["scaler"] == ""
    assert not events(recording, OptimizerStep)


def test_nested_regions_come_and_go_with_exceptions() -> None:
    training = Training()
    with Recorder() as recording:
        with contextlib.suppress(ValueError), torch.autocast("cpu", dtype=torch.float16):
            with torch.autocast("cpu", enabled=False):
                training.loss().backward()
            raise ValueError
        training.loss().backward()
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.autocast("cpu", dtype=torch.bfloat16))
            training.loss().backward()  # inside
    (hazard,) = recording.hazards
    assert (hazard.kind, hazard.place.line) == ("backward-in-autocast", line("inside"))
    entered = [recorded.event.region for recorded in events(recording, AutocastEnter)]
    assert [(region.dtype, region.enabled) for region in entered] == [
        ("float16", "yes"), ("float16", "no"), ("bfloat16", "yes"),
    ]  # fmt: skip
    assert len(events(recording, AutocastExit)) == 3


def test_regions_by_decorator() -> None:
    training = Training()
    forward = torch.autocast("cpu", dtype=torch.float16)(training.loss)
    with Recorder() as recording:
        forward().backward()
    assert recording.hazards == ()
    assert events(recording, Backward)[0].values["half"] is True


def test_regions_belong_to_threads() -> None:
    inside, outside = Training(), Training()
    entered, done = threading.Event(), threading.Event()

    def other() -> None:
        entered.wait(10)
        scaled_step(outside)
        done.set()

    with Recorder() as recording:
        thread = threading.Thread(target=other, name="other")
        thread.start()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            entered.set()
            assert done.wait(30)
        thread.join()
        scaled_step(inside)
    assert recording.hazards == ()
    assert [step.thread for step in events(recording, ScalerStep)] == ["other", "MainThread"]


def test_closures_come_before_their_step() -> None:
    training = Training(lambda parameters, lr: torch.optim.LBFGS(parameters, lr=lr, max_iter=1))

    def closure() -> Any:
        training.optimizer.zero_grad()
        loss = training.loss()
        loss.backward()
        return loss

    with Recorder() as recording:
        training.optimizer.step(closure)
    names = [type(recorded.event).__name__ for recorded in recording.events]
    assert names == ["ZeroGrad", "Backward", "OptimizerStep"]


def test_a_closure_given_to_a_scaler_leaves_unknown_gradients() -> None:
    training = Training()

    def closure() -> Any:
        loss = training.loss()
        training.scaler.scale(loss).backward()
        return loss

    with Recorder() as recording:
        training.optimizer.zero_grad()
        closure()
        training.scaler.step(training.optimizer, closure)
        training.scaler.update()
        training.optimizer.step()
    assert [each.kind for each in recording.hazards] == ["closure-with-scaler"]
    assert [step.event.closure for step in events(recording, ScalerStep)] == [True]
    assert len(events(recording, Backward)) == 2


@pytest.mark.parametrize("scaled", [False, True])
def test_steps_in_the_middle_of_a_backward_pass(scaled: bool) -> None:
    training = Training()

    def step(parameter: Any) -> None:
        training.optimizer.step()  # in a hook

    training.model[0].weight.register_post_accumulate_grad_hook(step)
    with Recorder() as recording:
        loss = training.loss()
        (training.scaler.scale(loss) if scaled else loss).backward()
    assert [step.place.line for step in events(recording, OptimizerStep)] == [line("in a hook")]
    assert kinds(recording) == ({"step-bypasses-scaler"} if scaled else set())


def test_deprecated_spellings_are_seen_where_they_stand() -> None:
    training = Training()
    with Recorder() as recording, pytest.warns(FutureWarning):
        training.scaler.scale(training.loss()).backward()
        torch.nn.utils.clip_grad_norm(training.model.parameters(), 1.0)  # deprecated
    (hazard,) = recording.hazards
    assert hazard.place == SourceLine(__file__, line("deprecated"))


def test_an_optimizer_inside_an_optimizer_is_one() -> None:
    def begin(self: Any, parameters: Any, lr: float) -> None:
        torch.optim.Optimizer.__init__(self, parameters, {"lr": lr})
        self.inner = torch.optim.SGD(self.param_groups, lr=lr)

    def step(self: Any, closure: Any = None) -> None:
        self.inner.step()

    outer = type("Outer", (torch.optim.Optimizer,), {"__init__": begin, "step": step})
    training = Training(outer)
    with Recorder() as recording:
        training.optimizer.zero_grad()
        training.loss().backward()
        training.optimizer.step()
        scaled_step(training)
    assert len(events(recording, OptimizerStep)) == 1
    assert recording.hazards == ()


def test_checkpoints_are_written_down(tmp_path: Path) -> None:
    training = Training()
    with Recorder() as recording:
        scaled_step(training)
        state = {"model": training.model.state_dict(), "optimizer": training.optimizer.state_dict()}
        torch.save(state, tmp_path / "checkpoint.pt")
    assert [kept.event.refs for kept in events(recording, Checkpoint)] == [("model#1",), ("optimizer#1",), ()]
