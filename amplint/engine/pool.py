"""Work spread over processes, one task at a time to each, so that a process that dies takes exactly one task with it."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic

from amplint.engine.pool_worker import PROCESSOR_ALARM, ResultT, TaskT, away, ending, signals_blocked, work
from amplint.model.records import NamedTuple, frozen


@frozen
class Died:
    """The answer of a process that did not live to give one: how it ended, in words."""

    how: str


@frozen
class LastAnswer(Generic[ResultT]):
    """What a function returns in a process that is of no use any more; a fresh one takes its place."""

    answer: ResultT


class TimeLimit(NamedTuple):
    """The seconds after which a process is killed that has not finished its task: by the clock, and of processor time.

    None is no limit. Where processes cannot be told their processor time, the clock is all that counts.
    """

    clock: float | None = None
    processor: float | None = None


UNLIMITED = TimeLimit()
_FIRST = 60.0
"""Seconds that a process gets on top for its first task, for which it may have to import a lot."""


def worker_count(jobs: int) -> int:
    """How many processes `jobs` means; 0 means as many as this process may use."""
    if jobs > 0:
        return jobs
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 32)


def run_all(
    function: Callable[[TaskT], ResultT | LastAnswer[ResultT]],
    tasks: Sequence[TaskT],
    workers: int,
    prepare: Callable[[], object],
    limit: TimeLimit = UNLIMITED,
    kin: Callable[[TaskT], Hashable] = lambda task: None,
) -> Iterator[tuple[int, ResultT | Died]]:
    """Call a function on every task in processes that end with it; see `Workers`.

    Args:
        function: what each process runs.
        tasks: what it is called with.
        workers: the number of processes.
        prepare: what every process would have to do first.
        limit: what a task may take.
        kin: what a task has in common with others.
    """
    with Workers(function, workers, prepare, limit) as pool:
        yield from pool.run(tasks, kin)


class Workers(Generic[TaskT, ResultT]):
    """Processes that wait for tasks until they are closed, and start when there is the first task for them.

    Args:
        function: what each process runs, a function of a module; its answers are sent back pickled.
        count: the number of processes.
        prepare: what every process would have to do first, such as importing; where processes are forked it is called once,
            before.
        limit: what a task may take.
        fork: whether processes are forked; without, each starts afresh, for what a fork cannot inherit.
    """

    def __init__(
        self,
        function: Callable[[TaskT], ResultT | LastAnswer[ResultT]],
        count: int,
        prepare: Callable[[], object],
        limit: TimeLimit = UNLIMITED,
        fork: bool = True,
    ) -> None:
        self._function = function
        self._count = count
        self._prepare: Callable[[], object] | None = prepare
        self._limit = limit
        self._deadlines: dict[Connection, float] = {}
        self._waiting: dict[Hashable, deque[tuple[int, TaskT]]] = {}
        self._last: dict[Connection, Hashable] = {}
        """Of which kin the last task of each process was."""
        # A fork is by far the cheapest start, and safe only where nothing runs beside us: no thread, no system library
        # with threads of its own as on macOS.
        self._forks = fork and sys.platform == "linux" and threading.active_count() == 1
        self._context = multiprocessing.get_context("fork" if self._forks else "spawn")
        self._processes: dict[Connection, BaseProcess] = {}
        self._busy: dict[Connection, int] = {}

    def __enter__(self) -> Workers[TaskT, ResultT]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(
        self, tasks: Sequence[TaskT], kin: Callable[[TaskT], Hashable] = lambda task: None
    ) -> Iterator[tuple[int, ResultT | Died]]:
        """Call the function on every task; yields the task's index and the answer, as answers come.

        Closing the iterator, or an exception such as Ctrl-C in the caller, ends the processes at once.

        Args:
            tasks: what the function is called with, in this order among their kin.
            kin: what a task has in common with others that are cheaper in one process; none is left idle for it.
        """
        for index, task in enumerate(tasks):
            self._waiting.setdefault(kin(task), deque()).append((index, task))
        if self._forks and self._prepare and tasks:
            self._prepare()
            self._prepare = None
        try:
            for connection in [*self._processes][: len(tasks)]:
                self._give(connection)
            while self._waiting and len(self._processes) < self._count:
                self._start()
            while self._busy:
                for one in wait([*self._busy], self._patience()):
                    assert isinstance(one, Connection)
                    yield self._receive(one)
                for one in self._overdue():
                    yield self._give_up(one)
        finally:
            if self._busy:
                self.close()

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in self._processes.values():
            process.terminate()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes.clear()
        self._busy.clear()
        self._waiting.clear()
        self._last.clear()

    def _start(self) -> None:
        """Start one more process and give it a task."""
        ours, theirs = self._context.Pipe()
        # Ends that a fork inherits would keep the pipes open, and the workers waiting, when we are gone.
        inherited = (*self._processes, ours) if self._forks else ()
        first = 0.0 if self._forks else _FIRST
        arguments = (self._function, theirs, inherited, self._limit.processor, first)
        process = self._context.Process(target=work, args=arguments, daemon=True)  # type: ignore[attr-defined]
        place: AbstractContextManager[None] = nullcontext() if self._forks else away()
        with signals_blocked(), place, warnings.catch_warnings():
            # Python 3.12 warns of any thread of any library; numeric ones have idle threads, and are made to be forked.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        self._processes[ours] = process
        self._give(ours, first)

    def _give(self, connection: Connection, extra: float = 0.0) -> None:
        index, task = self._next(connection)
        self._busy[connection] = index
        if self._limit.clock is not None:
            self._deadlines[connection] = time.monotonic() + self._limit.clock + extra
        with suppress(OSError):  # the process died; `_receive` finds out and says so
            connection.send(task)

    def _next(self, connection: Connection) -> tuple[int, TaskT]:
        """A task of the kin of the last one of a process, or else of a kin that no process is at, or else any."""
        kin = self._last.pop(connection, None)
        if kin not in self._waiting:
            others = set(self._last.values())
            kin = next((each for each in self._waiting if each not in others), next(iter(self._waiting)))
        self._last[connection] = kin
        task = self._waiting[kin].popleft()
        if not self._waiting[kin]:
            del self._waiting[kin]
        return task

    def _receive(self, connection: Connection) -> tuple[int, ResultT | Died]:
        """The answer that a process has ready; then give that process, or its successor, the next task."""
        index = self._busy.pop(connection)
        try:
            answer: ResultT | LastAnswer[ResultT] | Died = connection.recv()
        except (EOFError, OSError):
            return index, Died(self._succeed(connection))
        if isinstance(answer, LastAnswer):
            self._processes[connection].kill()
            self._succeed(connection)
            return index, answer.answer
        if self._waiting:
            self._give(connection)
        return index, answer

    def _patience(self) -> float | None:
        """Seconds until the first process is overdue; None where none ever is."""
        if self._limit.clock is None:
            return None
        return max(0.0, min(self._deadlines[connection] for connection in self._busy) - time.monotonic())

    def _overdue(self) -> list[Connection]:
        """The processes whose time is up and that have no answer ready."""
        if self._limit.clock is None:
            return []
        now = time.monotonic()
        return [one for one in self._busy if self._deadlines[one] <= now and not one.poll()]

    def _give_up(self, connection: Connection) -> tuple[int, ResultT | Died]:
        """Kill a process, and let a successor have the next task."""
        index = self._busy.pop(connection)
        self._processes[connection].kill()
        self._succeed(connection)
        return index, Died(f"no answer within {self._limit.clock:g} s")

    def _succeed(self, connection: Connection) -> str:
        """Bury a process, and start another one if there is a task for it; how the process ended, in words."""
        process = self._processes.pop(connection)
        self._deadlines.pop(connection, None)
        self._last.pop(connection, None)
        connection.close()
        process.join()
        if self._waiting:
            self._start()
        code = process.exitcode or 0
        if self._limit.processor is not None and PROCESSOR_ALARM is not None and code == -PROCESSOR_ALARM:
            return f"no answer within {self._limit.processor:g} s of processor time"
        return ending(code)
