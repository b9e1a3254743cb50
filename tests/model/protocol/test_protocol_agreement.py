"""What the campaign of random programs (docs/agreement.md) found wrong in the protocol."""

from __future__ import annotations

import pytest
from recorder import ONE, PLAIN, STEP, TWO, UNSCALE, UPDATE, ZERO, Recorder, forward, plain, scaled

from amplint.model.events import Backward, Event, OptimizerStep, Region
from amplint.model.protocol.hazards import Hazard

HALF = Region("cpu", "float16", "yes")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((ZERO, *plain(), UNSCALE), [("unscaled-backward", 2)]),
        ((ZERO, *plain(), UNSCALE, STEP), [("unscaled-backward", 2)]),
        ((ZERO, *scaled(), UNSCALE, *plain(7), STEP), []),
        ((ZERO, *scaled(), *plain(7), UNSCALE), [("unscaled-backward", 7)]),
        ((ZERO, *scaled(), UNSCALE), []),
    ],
)
def test_unscale_divides_what_nothing_has_multiplied(
    events: tuple[Event, ...], expected: list[tuple[str, int]]
) -> None:
    assert Recorder(ONE).feed(*events).found == expected


def test_what_an_update_left_behind_stays_so_behind_the_next_pass() -> None:
    late = (ZERO, STEP, *scaled(), UPDATE, *scaled(7), STEP)
    assert Recorder(ONE).feed(*late).found == [("update-per-optimizer", 6)]


def test_an_update_that_torch_refuses_changes_nothing() -> None:
    refused = (ZERO, *scaled(), UPDATE, STEP)
    assert Recorder(ONE).feed(*refused).found == [("update-in-accumulation", 6)]


def test_of_several_half_losses_the_nearest_to_the_step_is_named() -> None:
    recorder = Recorder({name: facts for name, facts in {**PLAIN, **TWO}.items() if name != "scaler"})
    recorder.enter(HALF).feed(forward("loss_g", 1), forward("loss_d", 2)).leave()
    recorder.feed(Backward(3, "loss_g"), OptimizerStep(4, "opt_g"), Backward(5, "loss_d"), OptimizerStep(6, "opt_d"))
    found: list[Hazard] = recorder.hazards
    assert [(hazard.site, hazard.optimizer) for hazard in found] == [(3, "opt_g"), (5, "opt_d")]
