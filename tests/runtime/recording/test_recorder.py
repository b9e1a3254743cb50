"""The runtime witness, against real torch: the textbook loop, and what goes wrong in it."""

from __future__ import annotations

from typing import Any

import pytest

from amplint.model.events import (
    Backward,
    Clip,
    ScalerStep,
    SchedulerStep,
    Unscale,
)  # fmt: skip

torch = pytest.importorskip("torch", reason="the recorder needs torch: pip install 'amplint[verify]'")

from torch.nn.utils import clip_grad_norm_, clip_grad_value_  # noqa: E402
from watched_training import Training, events, kinds, line, textbook  # noqa: E402

from amplint.runtime.recording.call_sites import SourceLine  # noqa: E402
from amplint.runtime.recording.recorder import Recorder  # noqa: E402


def test_the_textbook_loop_is_no_hazard() -> None:
    training = Training()
    with Recorder() as recording:
        for overflow in (False, True, False, True, True, False):
            textbook(training, overflow)
    assert recording.hazards == ()
    assert [step.values["skipped"] for step in events(recording, ScalerStep)] == [False, True, False, True, True, False]
    assert len(events(recording, SchedulerStep)) == 3


def test_events_carry_places_objects_and_values() -> None:
    training = Training()
    with Recorder() as recording:
        textbook(training)
    names = [type(recorded.event).__name__ for recorded in recording.events]
    assert names == [
        "ZeroGrad", "AutocastEnter", "AutocastExit", "Scale", "Backward", "Unscale", "Clip", "ScalerStep", "ScalerUpdate",
        "SchedulerStep",
    ]  # fmt: skip
    assert {recorded.place.file for recorded in recording.events} == {textbook.__code__.co_filename}
    assert {recorded.thread for recorded in recording.events} == {"MainThread"}
    (backward,), (unscale,) = events(recording, Backward), events(recording, Unscale)
    (clip,), (step,) = events(recording, Clip), events(recording, ScalerStep)
    assert backward.values["scaler"] == "scaler#1" and backward.values["half"] is True
    assert backward.values["norm"] == pytest.approx(1024 * unscale.values["norm"])
    assert unscale.values["scale"] == 1024.0 and unscale.values["found_inf"] == 0.0
    assert clip.event.owners == ("optimizer#1.parameters",) and clip.event.limit == "1"
    assert clip.values["before"] == pytest.approx(unscale.values["norm"]) and clip.values["before"] > 1
    assert step.values["norm"] == pytest.approx(1.0, rel=1e-4) and step.values["dtypes"] == ("float32",)


def test_clip_before_unscale_shows_what_the_optimizer_got() -> None:
    training = Training()
    with Recorder() as recording:
        for _ in range(2):
            training.optimizer.zero_grad()
            training.scaler.scale(training.loss()).backward()  # scaled
            clip_grad_norm_(training.model.parameters(), 1.0)  # clipped
            training.scaler.step(training.optimizer)
            training.scaler.update()
    (hazard,) = recording.hazards
    assert (hazard.kind, hazard.place) == ("clip-before-unscale", SourceLine(__file__, line("clipped")))
    assert hazard.related == {"scaled": SourceLine(__file__, line("scaled"))}
    assert (hazard.scaler, hazard.optimizer, hazard.times) == ("scaler#1", "optimizer#1", 2)
    assert events(recording, ScalerStep)[0].values["norm"] == pytest.approx(1 / 1024, rel=1e-4)


def test_clip_by_value_and_by_hand() -> None:
    training = Training()
    with Recorder() as recording:
        training.optimizer.zero_grad()
        training.scaler.scale(training.loss()).backward()
        clip_grad_value_(training.model.parameters(), 0.5)
        for parameter in training.model.parameters():
            parameter.grad.clamp_(-0.25, 0.25)
    assert [hazard.details for hazard in recording.hazards] == [("value", "0.5"), ("hand", "0.25")]
    assert recording.hazards[1].times == 4


def test_a_threshold_that_minds_the_scale_is_no_hazard() -> None:
    training = Training()
    with Recorder() as recording:
        training.scaler.scale(training.loss()).backward()
        clip_grad_norm_(training.model.parameters(), 1.5 * training.scaler.get_scale())
        clip_grad_norm_(training.model.parameters(), float("inf"))
    assert recording.hazards == ()


def test_plain_step_on_scaled_gradients() -> None:
    training = Training()
    with Recorder() as recording:
        training.optimizer.zero_grad()
        training.scaler.scale(training.loss()).backward()
        training.optimizer.step()  # bypassed
    (hazard,) = recording.hazards
    assert (hazard.kind, hazard.place.line) == ("step-bypasses-scaler", line("bypassed"))
    assert hazard.trigger.values["norm"] == pytest.approx(events(recording, Backward)[0].values["norm"])


@pytest.mark.parametrize("overflow", [False, True])
def test_plain_step_after_unscale_matters_when_there_was_an_overflow(overflow: bool) -> None:
    training = Training()
    with Recorder() as recording:
        training.scaler.scale(training.loss(overflow)).backward()
        training.scaler.unscale_(training.optimizer)
        training.optimizer.step()
        training.scaler.update()
    assert kinds(recording) == ({"step-bypasses-scaler"} if overflow else set())


def test_unscaled_backward() -> None:
    training = Training()
    training.scaler.scale(training.loss())
    with Recorder() as recording:
        training.optimizer.zero_grad()
        training.loss().backward()  # plain
        training.scaler.step(training.optimizer)
        training.scaler.update()
    (hazard,) = recording.hazards
    assert (hazard.kind, hazard.place.line) == ("unscaled-backward", line("plain"))


def test_missing_update_is_seen_although_torch_raises() -> None:
    training = Training()
    with Recorder() as recording, pytest.raises(RuntimeError, match="already been called"):
        for _ in range(2):
            training.optimizer.zero_grad()
            training.scaler.scale(training.loss()).backward()
            training.scaler.step(training.optimizer)
    (hazard,) = recording.hazards
    assert hazard.kind == "missing-update" and hazard.trigger.values["raised"] == "RuntimeError"


def test_a_call_that_raises_changes_nothing() -> None:
    training = Training()
    with Recorder() as recording:
        for _ in range(2):
            training.optimizer.zero_grad()
            with pytest.raises(AssertionError, match="_scale is None"):
                torch.amp.GradScaler("cpu").step(training.optimizer)
            textbook(training)
            with pytest.raises(AssertionError, match="No inf checks"):
                training.scaler.update()
    assert recording.hazards == ()
    assert [step.values.get("raised") for step in events(recording, ScalerStep)] == ["AssertionError", None] * 2


def test_a_failed_backward_pass_leaves_unknown_gradients() -> None:
    training = Training()

    def fail(grad: Any) -> Any:
        raise ValueError("in the middle")

    with Recorder() as recording:
        handle = training.model[0].weight.register_hook(fail)
        with pytest.raises(ValueError, match="in the middle"):
            training.scaler.scale(training.loss()).backward()
        handle.remove()
        training.optimizer.step()
    assert recording.hazards == ()
    assert events(recording, Backward)[0].values["raised"] == "ValueError"


def test_float16_without_a_scaler() -> None:
    training = Training()
    with Recorder() as recording:
        training.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = training.loss()
        loss.backward()
        training.optimizer.step()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            bfloat = training.loss()
        training.optimizer.zero_grad()
        bfloat.backward()
        training.optimizer.step()
    (hazard,) = recording.hazards
    assert hazard.kind == "fp16-without-scaler" and hazard.times == 1


def test_backward_inside_the_region_and_a_region_around_the_loop() -> None:
    training = Training()
    with Recorder() as recording, torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(3):
            training.optimizer.zero_grad()
            training.loss().backward()
            training.optimizer.step()
    assert kinds(recording) == {"backward-in-autocast", "region-spans-steps"}
    with Recorder() as recording:
        for _ in range(3):
            training.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                training.loss().backward()
                training.optimizer.step()
    assert kinds(recording) == {"backward-in-autocast"}
