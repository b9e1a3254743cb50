"""The scaler's round of an iteration: unscaling and updating too often, and gradients read while scaled."""

from __future__ import annotations

import pytest
from recorder import CLIP, ONE, SCALER, STEP, TWO, UNSCALE, UPDATE, ZERO, Recorder, plain, scaled

from amplint.model.events import (
    Escape,
    Event,
    GradAccess,
    Leave,
    ObjectFacts,
    OptimizerStep,
    ScalerStep,
    ScalerUpdate,
    Unscale,
    ZeroGrad,
)
from amplint.model.protocol.hazard import Hazard, HazardKind

READ, COMPARED, ADDED = (GradAccess(9, ("model",), by == "add", by) for by in ("measure", "compare", "add"))
AGAIN = Unscale(8, "scaler", "opt")
Expected = set[tuple[str, int]]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((READ, STEP, UPDATE), {("grad-read-before-unscale", 9)}),
        ((COMPARED, STEP, UPDATE), {("grad-read-before-unscale", 9)}),
        ((ADDED, STEP, UPDATE), {("grad-read-before-unscale", 9)}),
        ((READ, UNSCALE, CLIP, STEP, UPDATE), {("grad-read-before-unscale", 9)}),
        ((READ, CLIP, STEP, UPDATE), {("grad-read-before-unscale", 9), ("clip-before-unscale", 4)}),
        ((UNSCALE, READ, STEP, UPDATE), set()),
        ((STEP, READ, UPDATE), set()),
        ((STEP, UPDATE, READ), set()),
        ((Escape(1, ()), READ, STEP, UPDATE), set()),
        ((GradAccess(9, ("model",)), STEP, UPDATE), set()),
    ],
)
def test_gradients_in_use(events: tuple[Event, ...], expected: Expected) -> None:
    assert set(Recorder().feed(ZERO, *scaled(), *events).found) == expected


def test_gradients_of_nobody_known_are_judged_by_all_optimizers() -> None:
    read = GradAccess(9, (), by="measure")
    assert Recorder(TWO).feed(*scaled(), read).found == [("grad-read-before-unscale", 9)]
    one_unscaled = Recorder(TWO).feed(ZeroGrad(0, "opt_g"), *scaled(), Unscale(3, "scaler", "opt_d"))
    assert one_unscaled.feed(read).found == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((ZERO, *scaled(), UNSCALE, AGAIN, STEP, UPDATE), {("repeated-unscale", 8)}),
        ((ZERO, *scaled(), UNSCALE, UPDATE, STEP, UPDATE), set()),
        ((ZERO, *scaled(), UNSCALE, *scaled(7), STEP, UPDATE), {("unscale-in-accumulation", 3)}),
        ((ZERO, *scaled(), UNSCALE, *scaled(7), AGAIN, STEP, UPDATE), {("unscale-in-accumulation", 3)}),
        ((ZERO, *scaled(), UNSCALE, ZERO, *scaled(7), STEP, UPDATE), set()),
        ((ZERO, *scaled(), UNSCALE, STEP, *scaled(7), UPDATE), set()),
        ((ZERO, *scaled(), UNSCALE, *plain(7), STEP, UPDATE), set()),
        ((ZERO, *scaled(), UNSCALE, *plain(7), STEP, UPDATE, *plain(8), STEP, UPDATE), {("unscaled-backward", 8)}),
        ((ZERO, *scaled(), UNSCALE, Escape(1, ()), *scaled(7), AGAIN, STEP, UPDATE), set()),
        # A step past the scaler is another defect.
        ((ZERO, *scaled(), UNSCALE, OptimizerStep(5, "opt"), *scaled(7), AGAIN), {("step-bypasses-scaler", 5)}),
        # Silent, since each round ends with an update.
        (
            (ZERO, *scaled(), UNSCALE, UPDATE, *scaled(7), UNSCALE, STEP, UPDATE),
            {("unscale-in-accumulation", 3), ("update-in-accumulation", 6)},
        ),
        ((ZERO, *scaled(), UNSCALE, UPDATE, ZERO, *scaled(7), UNSCALE, STEP, UPDATE), set()),
    ],
)
def test_unscaling_too_often(events: tuple[Event, ...], expected: Expected) -> None:
    assert set(Recorder().feed(*events).found) == expected


def test_an_error_by_itself_is_told_from_silence() -> None:
    (silent,) = Recorder().feed(*scaled(), UNSCALE, *scaled(7)).hazards
    assert (silent.details, silent.at("backward")) == ((), 7)
    repeated = Recorder().feed(*scaled(), UNSCALE, AGAIN).hazards[0]
    assert (repeated.details, repeated.at("first")) == (("raises",), 3)


def test_of_several_optimizers_only_the_error_is_certain() -> None:
    once = (*scaled(), Unscale(3, "scaler", "opt_d"), *scaled(7))
    assert Recorder(TWO).feed(*once).found == []
    assert Recorder(TWO).feed(*once, Unscale(8, "scaler", "opt_g")).found == []
    assert Recorder(TWO).feed(*once, Unscale(8, "scaler", "opt_d")).found == [("unscale-in-accumulation", 3)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((ZERO, *scaled(), UPDATE, *scaled(7), STEP, UPDATE), [("update-in-accumulation", 6)]),
        ((ZERO, *scaled(), STEP, UPDATE, *scaled(7), STEP, UPDATE), []),
        ((ZERO, *scaled(), UNSCALE, UPDATE), []),
        ((UPDATE,), []),
        ((ZERO, UPDATE), []),
        ((ZERO, *scaled(), Escape(1, ()), UPDATE), []),
        ((ZERO, *scaled(), ScalerUpdate(6, "scaler", given=True)), []),
        ((ZERO, *scaled(scaler="other"), UPDATE), []),
        # What the step past the scaler brings about is told there.
        ((ZERO, *scaled(), OptimizerStep(5, "opt"), UPDATE), [("step-bypasses-scaler", 5)]),
    ],
)
def test_updating_without_a_step(events: tuple[Event, ...], expected: list[tuple[str, int]]) -> None:
    assert Recorder({**ONE, "other": SCALER}).feed(*events).found == expected


def test_one_optimizer_that_was_checked_is_enough_for_an_update() -> None:
    assert Recorder(TWO).feed(*scaled(), ScalerStep(5, "scaler", "opt_d"), UPDATE).found == []


STEP_D, STEP_G = ScalerStep(4, "scaler", "opt_d"), ScalerStep(5, "scaler", "opt_g")
LATE = ScalerUpdate(7, "scaler")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((*scaled(2), *scaled(3), STEP_D, UPDATE, STEP_G, LATE), [("update-per-optimizer", 6)]),
        ((*scaled(2), STEP_D, UPDATE, Unscale(8, "scaler", "opt_g"), STEP_G, LATE), [("update-per-optimizer", 6)]),
        ((*scaled(2), *scaled(3), STEP_D, STEP_G, LATE), []),
        ((*scaled(2), *scaled(3), STEP_D, STEP_G, UPDATE, LATE), []),
        ((*scaled(2), STEP_D, UPDATE, *scaled(3), STEP_G, LATE), []),
        ((*scaled(2), STEP_D, UPDATE, ZeroGrad(0, "opt_g"), *scaled(3), STEP_G, LATE), []),
        ((*scaled(2), Unscale(8, "scaler", "opt_g"), STEP_D, UPDATE, STEP_G, LATE), []),
        ((*scaled(2), STEP_D, UPDATE, Escape(1, ()), STEP_G, LATE), []),
        ((*scaled(2), *scaled(3, "loss_g", "other"), STEP_D, UPDATE, ScalerStep(5, "other", "opt_g")), []),
    ],
)
def test_updating_between_the_steps_of_two_optimizers(
    events: tuple[Event, ...], expected: list[tuple[str, int]]
) -> None:
    clear = (ZeroGrad(0, "opt_d"), ZeroGrad(0, "opt_g"))
    assert Recorder({**TWO, "other": SCALER}).feed(*clear, *events).found == expected


MISUSES = {
    "read": (*scaled(), READ),
    "unscaled twice": (*scaled(), UNSCALE, AGAIN),
    "unscaled before the last pass": (*scaled(), UNSCALE, *scaled(7)),
    "updated in vain": (*scaled(), UPDATE),
}


@pytest.mark.parametrize("events", MISUSES.values(), ids=MISUSES.keys())
def test_a_scaler_that_is_off_allows_all_of_it(events: tuple[Event, ...]) -> None:
    disabled = {**ONE, "scaler": ObjectFacts("scaler", enabled="no", made=True)}
    assert Recorder(disabled).feed(*events).found == []
    assert Recorder().mode(False).feed(*events).found == []
    assert Recorder().feed(*events).found != []


CLEARED = ZeroGrad(8, "opt", to_none=True)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((CLEARED, STEP, UPDATE), [("grads-cleared-before-step", 8)]),
        ((UNSCALE, CLEARED, STEP, UPDATE), [("grads-cleared-before-step", 8)]),
        ((STEP, CLEARED, UPDATE), []),
        ((STEP, UPDATE, CLEARED, *scaled(), STEP), []),
        ((CLEARED, *scaled(7), STEP, UPDATE), []),
        ((ZeroGrad(8, "opt"), STEP, UPDATE), []),
        ((CLEARED, Escape(1, ()), STEP, UPDATE), []),
    ],
)
def test_clearing_before_the_step(events: tuple[Event, ...], expected: list[tuple[str, int]]) -> None:
    assert Recorder().feed(CLEARED, *scaled(), *events).found == expected


BAD, EARLY = Leave(9, bad=True), Leave(9)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((UNSCALE, BAD, ZERO, *scaled(7), UNSCALE), [("exit-between-unscale-and-update", 9)]),
        ((UNSCALE, EARLY, ZERO, *scaled(7), UNSCALE), [("exit-between-unscale-and-update", 9)]),
        ((UNSCALE, BAD, *scaled(7), UNSCALE), [("exit-between-unscale-and-update", 9)]),
        # Gradients that stay, and no question of whether they are good: an accumulation.
        ((UNSCALE, EARLY, *scaled(7)), [("unscale-in-accumulation", 3)]),
        ((UNSCALE, UPDATE, BAD, ZERO, *scaled(7), UNSCALE), []),
        ((UNSCALE, STEP, BAD, UPDATE, ZERO, *scaled(7), UNSCALE), []),
        ((BAD, UNSCALE, STEP, UPDATE), []),
    ],
)
def test_leaving_early(events: tuple[Event, ...], expected: list[tuple[str, int]]) -> None:
    assert Recorder().feed(ZERO, *scaled(), *events).found == expected


def test_a_scaler_of_an_inner_call_is_named_as_its_function_writes_it() -> None:
    assert Hazard(HazardKind.CLIP_BEFORE_UNSCALE, 1, scaler="#28/scaler").scaler_name == "scaler"
    assert Hazard(HazardKind.CLIP_BEFORE_UNSCALE, 1, scaler="::self.scaler", optimizer="#4/opt").optimizer_name == "opt"
