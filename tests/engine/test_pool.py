"""Which process gets which task."""

from __future__ import annotations

import os
import time

from amplint.engine.pool import Died, run_all


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
