"""Which process gets which task, for how long, and what becomes of processes."""

from __future__ import annotations

import os
import sys
import time

import pytest

from amplint.engine.pool import UNLIMITED, Died, LastAnswer, TimeLimit, Workers, run_all


def _process(task: tuple[str, int]) -> int:
    time.sleep(0.02)
    return os.getpid()


def _answers(tasks: list[tuple[str, int]], workers: int) -> list[int]:
    answers: dict[int, int] = {}
    for index, answer in run_all(_process, tasks, workers, lambda: None, kin=lambda task: task[0]):
        assert not isinstance(answer, Died)
        answers[index] = answer
    assert sorted(answers) == list(range(len(tasks)))
    return [answers[index] for index in range(len(tasks))]


def test_a_process_goes_on_with_tasks_of_the_same_kin() -> None:
    tasks = [("abcd"[number % 4], number) for number in range(40)]
    answers = _answers(tasks, 2)
    by_kin = [{pid for (kin, _), pid in zip(tasks, answers) if kin == each} for each in "abcd"]
    assert sum(map(len, by_kin)) <= 5  # the last kin may be shared, lest a process be idle


def test_tasks_of_one_kin_are_shared_where_there_is_nothing_else_to_do() -> None:
    assert len(set(_answers([("a", number) for number in range(20)], 2))) == 2


def _number(task: str) -> int | LastAnswer[int]:
    """The number of this process; tasks say what happens on the way."""
    if task == "spoil":
        return LastAnswer(os.getpid())
    if task == "spin":
        while True:
            pass
    if task == "sleep":
        time.sleep(60)
    if task == "nap":
        time.sleep(1.0)
    return os.getpid()


def _pool(limit: TimeLimit = UNLIMITED, workers: int = 1) -> Workers[str, int]:
    if sys.platform != "linux":
        pytest.skip("a fresh process gets time to import")
    return Workers(_number, workers, lambda: None, limit)


def test_processes_wait_for_more_tasks() -> None:
    with _pool(workers=2) as pool:
        first = dict(pool.run(["", "", "", ""]))
        assert list(pool.run([])) == []
        assert set(dict(pool.run(["", ""])).values()) <= set(first.values()) and len(first) == 4


def test_a_process_that_is_of_no_use_any_more_gives_its_answer_and_is_replaced() -> None:
    with _pool() as pool:
        answers = dict(pool.run(["", "spoil", ""]))
        before, spoiled, after = (answers[index] for index in range(3))
        assert before == spoiled != after
        (spoiled_again,) = dict(pool.run(["spoil"])).values()
        (last,) = dict(pool.run([""])).values()
        assert after == spoiled_again != last


def test_time_in_which_a_process_does_nothing_is_not_counted() -> None:
    with _pool(TimeLimit(clock=30.0, processor=0.3)) as pool:
        answers = dict(pool.run(["nap", "spin", "", "spin"]))
    died = Died("no answer within 0.3 s of processor time")
    assert [answers[index] == died for index in range(4)] == [False, True, False, True]


def test_a_process_that_sleeps_is_killed_by_the_clock() -> None:
    with _pool(TimeLimit(clock=0.5, processor=0.3)) as pool:
        answers = dict(pool.run(["sleep", ""]))
        assert answers[0] == Died("no answer within 0.5 s") and isinstance(answers[1], int)
        assert isinstance(dict(pool.run([""]))[0], int)


def test_who_stops_listening_ends_the_processes() -> None:
    with _pool(workers=2) as pool:
        answers = pool.run(["", "sleep"])
        next(answers)
        began = time.monotonic()
        answers.close()  # type: ignore[attr-defined]
        assert time.monotonic() - began < 5
        assert isinstance(dict(pool.run([""]))[0], int)
