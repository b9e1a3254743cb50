"""Unscaling and updating too often, and gradients read while scaled, as the recorder sees them happen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from amplint.runtime.recording.recorder import Recorder  # noqa: E402


class Loop:
    """A model whose two halves have an optimizer each, and one scaler."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.first.parameters(), lr=0.01)
        self.other = torch.optim.SGD(self.second.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=64.0)

    def backward(self) -> None:
        self.scaler.scale(self.second(self.first(torch.ones(2, 4))).mean()).backward()

    def step(self) -> None:
        self.scaler.step(self.optimizer)
        self.scaler.step(self.other)
        self.scaler.update()


def reads_too_early(loop: Loop) -> None:
    loop.backward()
    print(loop.first.weight.grad.norm())
    loop.step()


def measures_by_an_infinite_clip(loop: Loop) -> None:
    loop.backward()
    torch.nn.utils.clip_grad_norm_(loop.first.parameters(), float("inf"))
    loop.step()


def reads_in_time(loop: Loop) -> None:
    loop.backward()
    assert loop.first.weight.grad is not None and loop.first.weight.grad.isfinite().all()
    loop.scaler.unscale_(loop.optimizer)
    print(loop.first.weight.grad.norm())
    loop.step()


def unscales_twice(loop: Loop) -> None:
    loop.backward()
    loop.scaler.unscale_(loop.optimizer)
    with pytest.raises(RuntimeError, match="has already been called"):
        loop.scaler.unscale_(loop.optimizer)
    loop.step()


def unscales_each_microbatch(loop: Loop) -> None:
    loop.backward()
    loop.scaler.unscale_(loop.optimizer)
    loop.backward()
    with pytest.raises(RuntimeError, match="has already been called"):
        loop.scaler.unscale_(loop.optimizer)


def updates_without_a_step(loop: Loop) -> None:
    loop.backward()
    with pytest.raises(AssertionError, match="No inf checks"):
        loop.scaler.update()
    loop.backward()
    loop.step()


def sets_the_scale(loop: Loop) -> None:
    loop.backward()
    loop.step()
    loop.optimizer.zero_grad()
    loop.other.zero_grad()
    loop.backward()
    loop.scaler.update(32.0)
    loop.optimizer.zero_grad()
    loop.other.zero_grad()


def updates_between_steps(loop: Loop) -> None:
    loop.backward()
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()
    loop.scaler.step(loop.other)
    loop.scaler.update()


def leaves_before_the_step(loop: Loop) -> None:
    loop.backward()
    loop.scaler.unscale_(loop.optimizer)
    loop.optimizer.zero_grad()
    loop.other.zero_grad()
    loop.backward()
    with pytest.raises(RuntimeError, match="has already been called"):
        loop.scaler.unscale_(loop.optimizer)


def clears_before_the_step(loop: Loop) -> None:
    loop.optimizer.zero_grad()
    loop.backward()
    loop.first.zero_grad()
    with pytest.raises(AssertionError, match="for this optimizer"):
        loop.step()


def trains(loop: Loop) -> None:
    for _ in range(2):
        loop.optimizer.zero_grad()
        loop.other.zero_grad()
        loop.backward()
        loop.backward()
        loop.scaler.unscale_(loop.optimizer)
        loop.step()


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (reads_too_early, {"grad-read-before-unscale"}),
        (measures_by_an_infinite_clip, {"grad-read-before-unscale"}),
        (reads_in_time, set()),
        (unscales_twice, {"repeated-unscale"}),
        (unscales_each_microbatch, {"unscale-in-accumulation"}),
        (updates_without_a_step, {"update-in-accumulation"}),
        (sets_the_scale, set()),
        (updates_between_steps, {"update-per-optimizer"}),
        (leaves_before_the_step, {"exit-between-unscale-and-update"}),
        (clears_before_the_step, {"grads-cleared-before-step"}),
        (trains, set()),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_happens_is_told(program: Callable[[Loop], None], expected: set[str]) -> None:
    loop = Loop()
    with Recorder() as recording:
        program(loop)
    assert {hazard.kind for hazard in recording.hazards} == expected
