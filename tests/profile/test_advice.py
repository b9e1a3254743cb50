"""What a profile comes to in words, from times that are given."""

from __future__ import annotations

import pytest

from amplint.profile.advice import advise
from amplint.profile.profile_record import Advice, LayerLook, ModeSummary, ProfileRecord, TurnRecord


def mode(
    name: str,
    steps: int,
    milliseconds: tuple[float, float, float],
    between: float = 0.0,
    turns: tuple[float, ...] = (),
) -> ModeSummary:
    """A mode with the quartiles of its times, and the medians of its turns."""
    low, median, high = (one / 1000 for one in milliseconds)
    return ModeSummary(
        name, steps, median, low, high, between, 0.0, None, None, None, steps, 0, 0.0, False, False, (1.0,),
        turns=tuple(one / 1000 for one in turns),
    )  # fmt: skip


def advice(plain: ModeSummary, half: ModeSummary, mean_operation: float = 1e-3) -> Advice:
    """What is said of two modes on a CPU, with operations that take so many seconds in float32."""
    record = ProfileRecord("train.py", "cpu", "a CPU", "2.13.0", plain.steps // 3, 2, 3)
    record.turns = [TurnRecord(one.mode, 0, weights=100, regions=1, enabled=1) for one in (plain, half)]
    record.modes = [plain, half]
    record.half = ("bfloat16",)
    record.looks = [
        LayerLook("float32", seconds={"Net": 10 * mean_operation}, operations=10),
        LayerLook("bfloat16", seconds={"Net": 0.01}, casts=0.15, number=15, operations=10),
    ]
    return advise(record)


def test_times_that_overlap_say_nothing_and_how_many_steps_would() -> None:
    few = advice(mode("float32", 6, (170, 174, 179)), mode("bfloat16", 6, (160, 171, 172)))
    assert few.mode == ""
    assert few.headline == "These runs cannot tell whether AMP pays: single steps differ by more than the modes do."
    assert few.reasons[0] == (
        "A step takes 171 ms in bfloat16 and 174 ms in float32 (middle half 160 ms to 172 ms and 170 ms to 179 ms)."
    )
    assert few.reasons[1] == "15 casts take 15% of a step in bfloat16."
    assert few.reasons[-1] == (
        "360 steps of each mode are likely to tell (`--steps 120`), if nothing else uses the machine."
    )


@pytest.mark.parametrize(
    ("half", "said"),
    [
        ((160, 171, 172), "AMP does not pay here: 15 casts take 15% of a step in bfloat16."),
        ((150, 160, 172), "Train in bfloat16."),
        ((190, 201, 212), "AMP does not pay here: 15 casts take 15% of a step in bfloat16."),
    ],
)
def test_many_steps_tell(half: tuple[float, float, float], said: str) -> None:
    assert advice(mode("float32", 3000, (170, 174, 179)), mode("bfloat16", 3000, half)).headline == said


@pytest.mark.parametrize(
    ("turns", "said"),
    [((71, 132, 139), "These runs cannot tell whether AMP pays"), ((131, 132, 134), "Train in bfloat16.")],
)
def test_turns_that_differ_more_than_their_steps_say_nothing(turns: tuple[float, ...], said: str) -> None:
    plain = mode("float32", 60, (71, 132, 139), turns=turns)
    assert advice(plain, mode("bfloat16", 60, (79.7, 80.1, 84), turns=(80, 80.1, 82))).headline.startswith(said)


def test_what_is_much_slower_is_said_to_be_so_after_few_steps() -> None:
    slow = advice(mode("float32", 12, (170, 174, 179)), mode("bfloat16", 12, (190, 201, 212)))
    assert slow.headline.startswith("AMP does not pay here: ")


def test_a_reason_that_is_no_time_needs_no_more_steps() -> None:
    waits = advice(mode("float32", 6, (170, 174, 179), 0.9), mode("bfloat16", 6, (160, 171, 172), 0.9))
    assert waits.headline.startswith("AMP does not pay here: 90% of the time lies between")
    small = advice(mode("float32", 6, (170, 174, 179)), mode("bfloat16", 6, (160, 171, 172)), mean_operation=1e-5)
    assert small.headline.startswith("AMP does not pay here: the model is small (AMP404)")
