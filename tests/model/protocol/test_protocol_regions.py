"""The protocol of autocast regions and of learning-rate schedulers, fed by hand with events."""

from __future__ import annotations

import pytest
from recorder import HALF, PLAIN, SCALER, STEP, TWO, UPDATE, Recorder, forward, plain, scaled

from amplint.model.events import (
    NO_GRAD,
    Assign,
    AutocastEnter,
    AutocastExit,
    Backward,
    CacheCleared,
    Escape,
    Event,
    Forward,
    ObjectFacts,
    OptimizerStep,
    Region,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
)
from amplint.model.protocol.state import ProtocolState

BF16 = Region("cuda", "bfloat16", "yes")
OFF = Region("cuda", "float16", "no")
MAYBE = Region("cuda", "float16", "maybe")
CPU_OFF = Region("cpu", "bfloat16", "no")


@pytest.mark.parametrize(
    ("regions", "found"),
    [
        ([HALF], True),
        ([BF16], True),
        ([MAYBE], True),
        ([OFF], False),
        ([HALF, OFF], False),
        ([OFF, HALF], True),
        ([HALF, CPU_OFF], True),
        ([HALF, NO_GRAD], True),
        ([NO_GRAD], False),
        ([Region("cuda", "float32", "yes")], False),
        ([HALF, Region("cuda", "float32", "yes")], False),
        ([], False),
    ],
)
def test_backward_inside_a_region(regions: list[Region], found: bool) -> None:
    recorder = Recorder().enter(*regions).feed(Backward(2, "loss"))
    assert (recorder.found == [("backward-in-autocast", 2)]) is found


def test_the_region_that_decides_is_named() -> None:
    (hazard,) = Recorder().enter(BF16, OFF, HALF).feed(Backward(2, "loss")).hazards
    assert hazard.at("region") == 902


def test_a_region_that_is_left_decides_nothing() -> None:
    assert Recorder().enter(HALF).leave().feed(Backward(2, "loss")).found == []


def test_a_region_by_flag_is_off_where_amp_is_off() -> None:
    assert Recorder().mode(False).enter(MAYBE).feed(Backward(2, "loss")).found == []
    assert Recorder().mode(False).enter(HALF).feed(Backward(2, "loss")).found == [("backward-in-autocast", 2)]


STEPPED = OptimizerStep(5, "opt")
BACKWARD = Backward(2, "loss")


def spans(recorder: Recorder, *events: Event) -> list[int]:
    """The regions that span steps, once the events have happened twice."""
    hazards = recorder.feed(*events, *events).hazards
    return sorted({each.site for each in hazards if each.kind == "region-spans-steps"})


def test_a_region_that_spans_the_iterations() -> None:
    assert spans(Recorder(PLAIN).enter(HALF), BACKWARD, STEPPED) == [900]
    assert spans(Recorder(PLAIN).enter(HALF), Forward(1, "model"), STEPPED) == [900]
    assert spans(Recorder().enter(HALF), BACKWARD, STEP) == [900]
    assert spans(Recorder(PLAIN), AutocastEnter(900, HALF), BACKWARD, STEPPED, AutocastExit(901)) == []
    assert spans(Recorder(PLAIN).enter(HALF), STEPPED) == [], "nothing is computed between the steps"
    assert spans(Recorder(PLAIN).enter(HALF).feed(BACKWARD), STEPPED) == [], "nothing is computed between the steps"
    assert spans(Recorder(PLAIN).enter(HALF), BACKWARD, STEPPED, CacheCleared(7)) == []


def test_of_two_losses_in_one_region_each_has_its_own_step() -> None:
    one, other = Backward(2, "loss_g"), Backward(3, "loss_d")
    once = Recorder(TWO).enter(HALF).feed(one, OptimizerStep(5, "opt_g"), other, OptimizerStep(6, "opt_d"))
    assert {hazard.kind for hazard in once.hazards} == {"backward-in-autocast"}


def test_a_backward_pass_in_a_loop_in_the_region() -> None:
    (told,) = Recorder().enter(HALF).feed(BACKWARD, loops=(1,)).hazards
    assert told.details == ("spans",)


def test_the_outermost_region_keeps_the_weights() -> None:
    assert spans(Recorder(PLAIN).enter(OFF, HALF), Forward(1, "model"), STEPPED) == [900]
    again = (AutocastEnter(905, HALF), Forward(1, "model"), STEPPED, AutocastExit(906))
    assert spans(Recorder(PLAIN).enter(OFF), *again) == [900]
    assert spans(Recorder(PLAIN).enter(HALF, OFF), Forward(1, "model"), STEPPED) == []
    assert spans(Recorder(PLAIN).enter(NO_GRAD), Forward(1, "model"), STEPPED) == []


def test_a_region_without_a_cache_keeps_nothing() -> None:
    uncached = Region("cuda", "bfloat16", "yes", cached=False)
    assert spans(Recorder(PLAIN).enter(uncached), Forward(1, "model"), STEPPED) == []
    assert spans(Recorder(PLAIN).enter(uncached, BF16), Forward(1, "model"), STEPPED) == []


def test_a_forward_pass_after_a_step_in_one_region() -> None:
    first, second = Forward(1, "model"), Forward(8, "model")
    stale = Recorder(PLAIN).enter(HALF).feed(first, STEPPED, second)
    (hazard,) = stale.hazards
    assert (hazard.kind, hazard.site, hazard.at("step"), hazard.at("use")) == ("region-spans-steps", 900, 5, 8)
    assert Recorder(PLAIN).enter(HALF).feed(STEPPED, second).found == [], "nothing was cast before the step"
    assert Recorder(PLAIN).enter(HALF).feed(Forward(1, "teacher"), STEPPED, Forward(8, "teacher")).found == []
    assert Recorder(PLAIN).enter(HALF).feed(first).leave().enter(HALF).feed(STEPPED, second).found == []
    assert Recorder(PLAIN).enter(HALF).feed(first, STEPPED).leave().feed(second).found == []


def test_only_the_weights_of_the_stepped_optimizer_are_stale() -> None:
    step_d = OptimizerStep(5, "opt_d")
    generator = (Forward(1, "gen"), step_d, Forward(8, "gen"))
    assert Recorder(TWO).enter(HALF).feed(*generator).found == []
    discriminator = (Forward(1, "disc"), step_d, Forward(8, "disc"))
    assert Recorder(TWO).enter(HALF).feed(*discriminator).found == [("region-spans-steps", 900)]


# -- half without a scaler -----------------------------------------------------------------------------------------------


def half(*regions: Region, objects: dict[str, ObjectFacts] = PLAIN, loss: str = "loss") -> Recorder:
    recorder = Recorder(objects).enter(*regions).feed(forward(loss))
    for _ in regions:
        recorder.leave()
    return recorder.feed(Backward(2, loss), OptimizerStep(5, "opt"))


def test_half_precision_without_a_scaler() -> None:
    assert half(HALF).found == [("fp16-without-scaler", 2)]
    assert half(MAYBE).found == [("fp16-without-scaler", 2)]
    assert half(HALF, HALF).found == [("fp16-without-scaler", 2)]


@pytest.mark.parametrize("regions", [(BF16,), (OFF,), (HALF, OFF), (HALF, NO_GRAD), (Region("cuda", "?", "yes"),), ()])
def test_nothing_underflows_here(regions: tuple[Region, ...]) -> None:
    assert half(*regions).found == []


def test_a_scaler_or_a_framework_somewhere_takes_care() -> None:
    for role in ("scaler", "framework"):
        assert half(HALF, objects={**PLAIN, "it": ObjectFacts(role)}).found == [], role


def test_half_flows_from_the_outputs_into_the_loss() -> None:
    recorder = Recorder(PLAIN).enter(HALF).feed(forward("out")).leave()
    recorder.feed(Assign(3, "loss", (), ("out",), computes=True), Backward(2, "loss"), OptimizerStep(5, "opt"))
    assert recorder.found == [("fp16-without-scaler", 2)]
    assert Recorder(PLAIN).enter(HALF).feed(forward("out")).leave().feed(*plain(), OptimizerStep(5, "opt")).found == []


def test_without_a_step_there_is_nothing_to_protect() -> None:
    assert Recorder(PLAIN).enter(HALF).feed(forward()).leave().feed(Backward(2, "loss")).found == []


# -- schedulers ----------------------------------------------------------------------------------------------------------

SCHEDULE = SchedulerStep(7, "sched")


@pytest.mark.parametrize(
    ("events", "details"),
    [
        ((*scaled(), STEP, UPDATE, SCHEDULE), ("after-update",)),
        ((*scaled(), STEP, SCHEDULE, UPDATE), ("before-update",)),
        ((*scaled(), SCHEDULE, STEP, UPDATE), None),
        ((SCHEDULE,), None),
        ((*plain(), OptimizerStep(5, "opt"), SCHEDULE), None),
        ((*scaled(), STEP, UPDATE, Escape(8, ()), SCHEDULE), ("after-update",)),
    ],
)
def test_a_scheduler_that_moves_on_although_the_step_was_skipped(
    events: tuple[Event, ...], details: tuple[str, ...] | None
) -> None:
    hazards = Recorder().feed(*events).hazards
    assert [hazard.details for hazard in hazards] == ([] if details is None else [details])
    assert all((hazard.kind, hazard.site, hazard.at("step")) == ("scheduler-not-gated", 7, 5) for hazard in hazards)


def test_a_gate_settles_the_step_before_it() -> None:
    recorder = Recorder().feed(*scaled(), STEP, UPDATE)
    recorder.settle(lambda state: state.asking(None))
    assert recorder.feed(SCHEDULE).found == []
    assert recorder.feed(*scaled(), STEP, UPDATE, SCHEDULE).found == [("scheduler-not-gated", 7)], "asked each time"


def test_only_an_updated_scale_can_tell_what_was_skipped() -> None:
    recorder = Recorder().feed(*scaled(), STEP)
    recorder.settle(ProtocolState.not_skipped)
    assert recorder.feed(UPDATE, SCHEDULE).found == [("scheduler-not-gated", 7)]
    recorder.settle(ProtocolState.not_skipped)
    assert recorder.feed(SCHEDULE).found == [("scheduler-not-gated", 7)]


def test_the_scale_of_one_scaler_tells_nothing_of_another() -> None:
    recorder = Recorder({**TWO, "other": SCALER})
    other = ScalerStep(8, "other", "opt_g")
    recorder.feed(*scaled(), other, ScalerStep(5, "scaler", "opt_d"), UPDATE)
    recorder.settle(ProtocolState.not_skipped)
    left = list(recorder.state.protocol.stepped.keys())
    assert left == ["opt_g"]


def test_a_scheduler_of_the_epoch_is_none_of_the_step() -> None:
    recorder = Recorder().feed(*scaled(), STEP, UPDATE, loops=(1, 2))
    assert recorder.feed(SCHEDULE, loops=(1,)).found == []
    assert recorder.feed(SCHEDULE, loops=(1, 2)).found == [("scheduler-not-gated", 7)]


@pytest.mark.parametrize(
    ("scheduler", "owners", "optimizer"),
    [
        ("sched", ("opt_d",), "opt_d"),
        ("sched", ("opt_g",), "opt_g"),
        ("scheduler_G", (), "opt_g"),
        ("self.g_sched", (), "opt_g"),
        ("sched", (), "opt_d"),
        ("sched", ("elsewhere",), "opt_d"),
    ],
)
def test_which_step_a_scheduler_follows(scheduler: str, owners: tuple[str, ...], optimizer: str) -> None:
    objects = {
        "scaler": SCALER,
        "opt_g": ObjectFacts("optimizer", ("gen",)),
        "opt_d": ObjectFacts("optimizer", ("disc",)),
        scheduler: ObjectFacts("scheduler", owners),
    }
    recorder = Recorder(objects).feed(*scaled(), ScalerStep(5, "scaler", "opt_g"), ScalerStep(6, "scaler", "opt_d"))
    (hazard,) = recorder.feed(ScalerUpdate(8, "scaler"), SchedulerStep(9, scheduler)).hazards
    assert hazard.optimizer == optimizer
