"""The runtime witness leaves no trace: everything is put back, no number changes, and it costs little."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from amplint.model.events import (
    Clip,
    ScalerStep,
)  # fmt: skip

torch = pytest.importorskip("torch", reason="the recorder needs torch: pip install 'amplint[verify]'")

from torch.nn.utils import clip_grad_norm_, clip_grad_value_  # noqa: E402
from watched_training import Training, events, scaled_step, textbook  # noqa: E402

from amplint.runtime.recording.call_sites import SourceLine  # noqa: E402
from amplint.runtime.recording.recorder import Recorder  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def all_imported() -> None:
    """The first training in a process imports more of PyTorch, which puts names into its modules: not while it is watched."""
    textbook(Training())


def watched() -> Iterator[tuple[object, str, object]]:
    """Everything that a recorder may replace, with what stands there."""
    owners = [torch, torch.autograd, torch.serialization, torch.nn.utils, torch.nn.utils.clip_grad, torch.Tensor]
    owners += [
        torch.nn.Module,
        torch.amp.GradScaler,
        torch.autocast,
        torch.cuda.amp.GradScaler,
        torch.cuda.amp.autocast,
    ]
    owners += [torch.optim.Optimizer, torch.optim.SGD, *vars(torch.optim.lr_scheduler).values()]
    for owner in owners:
        for name, value in vars(owner).items() if hasattr(owner, "__dict__") else ():
            yield owner, name, value
    for function in (clip_grad_norm_, clip_grad_value_):
        for cell in function.__closure__ or ():
            yield function, "cell", cell.cell_contents
    optimizers = sys.modules["torch.optim.optimizer"]
    for hooks in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"):
        yield optimizers, hooks, tuple(getattr(optimizers, hooks))


def same(before: list[Any], after: list[Any]) -> bool:
    return len(before) == len(after) and all(
        one[0] is two[0] and one[1] == two[1] and (one[2] is two[2] or one[1].endswith("hooks") and one[2] == two[2])
        for one, two in zip(before, after)
    )


def test_everything_is_put_back() -> None:
    before = list(watched())
    training = Training()
    with Recorder():
        textbook(training)
        assert not same(before, list(watched()))
    assert same(before, list(watched()))


def test_everything_is_put_back_after_an_exception() -> None:
    before = list(watched())
    with pytest.raises(ValueError, match="the program's own"), Recorder() as recording:
        scaled_step(Training())
        raise ValueError("the program's own")
    assert same(before, list(watched()))
    assert events(recording, ScalerStep)
    with Recorder() as recording:
        pass
    assert recording.events == ()


def test_what_was_imported_before_and_meanwhile_works_after() -> None:
    training = Training()
    with Recorder() as recording:
        kept = training.scaler.scale
        training.optimizer.zero_grad()
        training.loss().backward()
        clip_grad_norm_(training.model.parameters(), 1.0)
    count = len(recording.events)
    kept(training.loss()).backward()
    clip_grad_norm_(training.model.parameters(), 1.0)
    assert len(recording.events) == count and len(events(recording, Clip)) == 1


def test_one_recorder_at_a_time() -> None:
    recorder = Recorder()
    with recorder as recording:
        for second in (recorder, Recorder()):
            with pytest.raises(RuntimeError, match="another Recorder is at work"), second:
                raise AssertionError("must not begin")
        scaled_step(Training())
    assert events(recording, ScalerStep)
    with recorder as again:
        assert again.events == ()


def test_the_numbers_of_the_program_do_not_change() -> None:
    def run() -> list[Any]:
        training = Training(torch.optim.Adam)
        for overflow in (False, True, False):
            textbook(training, overflow)
        return [parameter.detach() for parameter in training.model.parameters()]

    alone = run()
    with Recorder():
        recorded = run()
    assert all(torch.equal(*pair) for pair in zip(alone, recorded))


def test_generators_of_parameters_arrive_whole() -> None:
    training = Training()
    training.loss().backward()
    with Recorder() as recording:
        norm = clip_grad_norm_((parameter for parameter in training.model.parameters()), 1e-3)
    assert float(norm) == pytest.approx(events(recording, Clip)[0].values["before"])
    assert events(recording, Clip)[0].values["norm"] == pytest.approx(1e-3, rel=1e-3)


def test_the_place_can_be_told() -> None:
    place = SourceLine("train.py", 7)
    with Recorder(locate=lambda: place) as recording:
        scaled_step(Training())
    assert {recorded.place for recorded in recording.events} == {place}


def calls_in(run: Callable[[], object]) -> int:
    """The calls of functions, of Python and of C, while something runs: a measure of its work that no other process changes.

    No garbage is collected meanwhile: what earlier tests have left may have finalizers and callbacks, which would be counted.
    """
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.collect()
    gc.disable()
    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def test_recording_calls_not_many_more_functions_and_none_when_off() -> None:
    training = Training(torch.optim.Adam)
    training.batch = torch.randn(256, 8)

    count = 20

    def steps() -> None:
        for _ in range(count):
            textbook(training)

    steps()
    plain = calls_in(steps)
    with Recorder():
        recorded = calls_in(steps)
    assert recorded < 4.5 * plain  # 3.9 here, which is 1.6 times the time: most of that is in PyTorch's own code
    assert abs(calls_in(steps) - plain) < count  # not one call more in a step
