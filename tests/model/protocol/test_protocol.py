"""The protocol of scalers, optimizers and gradients, fed by hand with events, as a recorder of real calls would feed it."""

from __future__ import annotations

import pytest
from recorder import CLIP, ONE, SCALER, STEP, TWO, UNSCALE, UPDATE, ZERO, Recorder, forward, plain, scaled

from amplint.model.events import (
    Assign,
    Backward,
    Clip,
    Escape,
    Event,
    GradAccess,
    ObjectFacts,
    OptimizerStep,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
    ZeroGrad,
)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # The textbook loop, and what goes wrong in it.
        ((ZERO, *scaled(), STEP, UPDATE), []),
        ((ZERO, *scaled(), UNSCALE, CLIP, STEP, UPDATE), []),
        ((ZERO, *scaled(), CLIP, STEP, UPDATE), [("clip-before-unscale", 4)]),
        ((ZERO, *scaled(), CLIP, UNSCALE, STEP, UPDATE), [("clip-before-unscale", 4)]),
        ((ZERO, *scaled(), OptimizerStep(5, "opt")), [("step-bypasses-scaler", 5)]),
        ((ZERO, *scaled(), UNSCALE, OptimizerStep(5, "opt"), UPDATE), [("step-bypasses-scaler", 5)]),
        ((ZERO, *scaled(), STEP, UPDATE, OptimizerStep(9, "opt")), [("step-bypasses-scaler", 9)]),
        ((ZERO, *scaled(), STEP, UPDATE, ZERO, OptimizerStep(9, "opt")), []),
        ((ZERO, *scaled(), STEP, UPDATE, *plain(7, "aux"), OptimizerStep(9, "opt")), []),
        ((ZERO, *scaled(), STEP, UPDATE, OptimizerStep(9, "other")), []),
        ((ZERO, *plain(), STEP, UPDATE), [("unscaled-backward", 2)]),
        ((ZERO, *scaled(2), *plain(7, "aux"), STEP, UPDATE), [("unscaled-backward", 7)]),
        ((ZERO, *scaled(2), *plain(7, "aux"), OptimizerStep(5, "opt")), [("step-bypasses-scaler", 5)]),
        # Accumulation adds up; clearing forgets.
        ((ZERO, *scaled(2), *scaled(7), UNSCALE, CLIP, STEP, UPDATE), []),
        ((ZERO, *scaled(2), *scaled(7), CLIP, STEP, UPDATE), [("clip-before-unscale", 4)]),
        ((*scaled(), ZERO, *plain(7), OptimizerStep(5, "opt")), []),
        ((*scaled(), ZeroGrad(0, owner="model"), *plain(7), OptimizerStep(5, "opt")), []),
        ((*scaled(), ZeroGrad(0), CLIP), []),
        # Whoever gets hold of the objects may do the right thing with them.
        ((*scaled(), Escape(8, ()), CLIP), []),
        ((*scaled(), GradAccess(8, ("model",), writes=True), CLIP), []),
        ((*scaled(), GradAccess(8, ("model",)), CLIP), [("clip-before-unscale", 4)]),
        ((*scaled(), Unscale(8, "scaler", ""), CLIP), []),
        ((*scaled(), ScalerStep(8, "scaler", ""), CLIP), []),
        # Gradients of which nothing is known.
        ((CLIP, STEP, UPDATE), []),
        ((Backward(2, "loss"), CLIP, STEP, UPDATE), []),
        ((OptimizerStep(5, "opt"),), []),
    ],
)
def test_one_iteration(events: tuple[Event, ...], expected: list[tuple[str, int]]) -> None:
    assert Recorder().feed(*events).found == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((ZERO, *scaled(), STEP, UPDATE), set()),
        ((ZERO, *scaled(), STEP), {("missing-update", 5)}),
        ((ZERO, *scaled(), UNSCALE, STEP), {("missing-update", 5)}),
        ((ZERO, *scaled(), UNSCALE, CLIP, STEP, UPDATE), set()),
        # No `zero_grad` in sight: a stepped gradient is taken for used up, not for accumulated.
        ((*scaled(), STEP, UPDATE), set()),
        ((*plain(), OptimizerStep(5, "opt")), set()),
    ],
)
def test_from_iteration_to_iteration(events: tuple[Event, ...], expected: set[tuple[str, int]]) -> None:
    assert set(Recorder().feed(*events * 3).found) == expected


def test_a_hazard_names_the_other_half() -> None:
    (clipped,) = Recorder().feed(*scaled(), CLIP).hazards
    assert (clipped.at("scaled"), clipped.details) == (2, ("norm", "1.0"))
    assert (clipped.scaler, clipped.optimizer) == ("scaler", "opt")
    (bypassed,) = Recorder().feed(*scaled(), OptimizerStep(5, "opt")).hazards
    assert (bypassed.at("scaled"), bypassed.details) == (2, ("scaled",))
    (late,) = Recorder().feed(*scaled(), UNSCALE, OptimizerStep(5, "opt")).hazards
    assert late.details == ("unscaled",)
    (missing,) = Recorder().feed(*scaled(), STEP, *scaled(7), ScalerStep(8, "scaler", "opt")).hazards
    assert (missing.kind, missing.at("next"), missing.at("scaled")) == ("missing-update", 8, -1)
    (unscaled,) = Recorder().feed(*plain(), STEP).hazards
    assert unscaled.at("step") == 5


# -- scalers that are off ------------------------------------------------------------------------------------------------

MISUSES = {
    "clip": (*scaled(), CLIP),
    "bypass": (*scaled(), OptimizerStep(5, "opt")),
    "missing update": (*scaled(), STEP, *scaled(), STEP),
    "unscaled": (*plain(), STEP),
    "ungated": (*scaled(), STEP, UPDATE, SchedulerStep(7, "sched")),
}


@pytest.mark.parametrize("events", MISUSES.values(), ids=MISUSES.keys())
def test_a_disabled_scaler_allows_any_order(events: tuple[Event, ...]) -> None:
    disabled = {**ONE, "scaler": ObjectFacts("scaler", enabled="no", made=True)}
    assert Recorder(disabled).feed(*events).found == []
    assert Recorder().feed(*events).found != [], "the same order with an enabled one is a misuse"


@pytest.mark.parametrize("enabled", ["yes", "maybe"])
def test_a_flag_counts_as_on(enabled: str) -> None:
    objects = {**ONE, "scaler": ObjectFacts("scaler", enabled=enabled, made=True)}
    assert Recorder(objects).feed(*MISUSES["clip"]).found == [("clip-before-unscale", 4)]


def test_on_a_path_without_amp_nothing_is_scaled() -> None:
    for name in ("clip", "bypass", "ungated"):
        assert Recorder().mode(False).feed(*MISUSES[name]).found == [], name
        assert Recorder().mode(True).feed(*MISUSES[name]).found != [], name


# -- several of them -----------------------------------------------------------------------------------------------------


def two(*clipped: str, unscaled: tuple[str, ...] = ()) -> Recorder:
    """A scaled backward, `unscale_` of some optimizers, then a clip of some models."""
    recorder = Recorder(TWO).feed(ZeroGrad(0, "opt_g"), ZeroGrad(0, "opt_d"), *scaled())
    recorder.feed(*(Unscale(3, "scaler", optimizer) for optimizer in unscaled))
    return recorder.feed(Clip(4, clipped, limit="1.0"))


def test_the_owner_of_the_parameters_must_be_unscaled() -> None:
    assert two("gen").hazards[0].optimizer == "opt_g"
    assert two("gen", unscaled=("opt_d",)).hazards[0].optimizer == "opt_g"
    assert two("gen", unscaled=("opt_g",)).found == []
    assert two("gen", "disc", unscaled=("opt_g", "opt_d")).found == []
    assert two("gen", "disc").hazards[0].optimizer == ""


def test_a_clip_of_unknown_owners_is_judged_by_all_optimizers() -> None:
    assert two("elsewhere").found == [("clip-before-unscale", 4)]
    assert two("elsewhere", unscaled=("opt_g",)).found == []


def test_a_clip_may_name_its_optimizer() -> None:
    recorder = Recorder(TWO).feed(*scaled(), Unscale(3, "scaler", "opt_g"))
    assert recorder.feed(Clip(4, (), "opt_g")).found == []
    assert recorder.feed(Clip(4, (), "opt_d")).found == [("clip-before-unscale", 4)]


def test_one_update_serves_all_optimizers_of_a_scaler() -> None:
    steps = (ScalerStep(5, "scaler", "opt_g"), ScalerStep(6, "scaler", "opt_d"))
    clear = (ZeroGrad(0, "opt_g"), ZeroGrad(0, "opt_d"))
    assert Recorder(TWO).feed(*(*clear, *scaled(), *steps, ScalerUpdate(7, "scaler")) * 3).found == []
    late = Recorder(TWO).feed(*(*clear, *scaled(), *steps) * 2)
    assert late.found == [("missing-update", 5), ("missing-update", 6)]


def test_an_update_is_of_its_own_scaler() -> None:
    objects = {**TWO, "other": SCALER}
    once = (ZeroGrad(0, "opt_g"), *scaled(), ScalerStep(5, "scaler", "opt_g"), ScalerUpdate(6, "other"))
    assert Recorder(objects).feed(*once, *once).found == [("missing-update", 5)]


def test_a_plain_backward_for_another_optimizer_is_no_defect() -> None:
    """Of several optimizers nobody knows which one a plain loss is for, once some of the gradient is scaled."""
    recorder = Recorder(TWO).feed(ZeroGrad(0, "opt_g"), *scaled(2), *plain(7, "other_loss"))
    assert recorder.feed(ScalerStep(5, "scaler", "opt_g"), OptimizerStep(8, "opt_d")).found == []


# -- values --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ([Assign(7, "total", ("%2",), (), computes=True)], True),
        ([Assign(7, "alias", ("%2",)), Assign(8, "total", ("alias",), (), computes=True)], True),
        ([Assign(7, "total", (), ("%2",), computes=True)], False),
        ([Assign(7, "total", ("?",), (), computes=True)], False),
        ([forward("total")], False),
    ],
)
def test_arithmetic_keeps_the_scale_and_calls_do_not(way: list[Event], found: bool) -> None:
    recorder = Recorder().feed(forward(), Scale(2, "%2", "scaler", "loss"), *way, Backward(9, "total"), CLIP)
    assert (recorder.found == [("clip-before-unscale", 4)]) is found


def test_a_part_of_a_value_is_known_by_the_whole() -> None:
    recorder = Recorder().feed(Scale(2, "outputs", "scaler", "x"), Backward(3, "outputs.loss"), CLIP)
    assert recorder.found == [("clip-before-unscale", 4)]


def test_an_unseen_loss_may_be_scaled_unless_nothing_scales() -> None:
    assert Recorder().feed(Backward(2, "loss"), STEP).found == []
    assert Recorder(nothing_scales=True).feed(Backward(2, "loss"), STEP).found == [("unscaled-backward", 2)]
