"""Work spread over processes, one task at a time to each, so that a process that dies takes exactly one task with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Died:
    """The answer of a process that did not live to give one: how it ended, in words."""

    how: str


_FIRST = 60.0
"""Seconds that a process gets on top for its first task, for which it may have to import a lot."""


def worker_count(jobs: int) -> int:
    """How many processes `jobs` means; 0 means as many as this process may use."""
    if jobs > 0:
        return jobs
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 32)


def run_all(
    function: Callable[[TaskT], ResultT],
    tasks: Sequence[TaskT],
    workers: int,
    prepare: Callable[[], object],
    limit: float | None = None,
    fork: bool = True,
    kin: Callable[[TaskT], Hashable] = lambda task: None,
) -> Iterator[tuple[int, ResultT | Died]]:
    """Call a module-level function on every task; yields the task's index and the answer, as answers come.

    Closing the iterator, or an exception such as Ctrl-C in the caller, ends the processes at once.

    Args:
        function: what each process runs; its answers are sent back pickled.
        tasks: what it is called with, in this order among their kin.
        workers: the number of processes.
        prepare: what every process would have to do first, such as importing; where processes are forked it is called once,
            before.
        limit: the seconds after which a process is killed that has not finished its task.
        fork: whether processes are forked; without, each starts afresh, for what a fork cannot inherit.
        kin: what a task has in common with others that are cheaper in one process; none is left idle for it.
    """
    pool: _Pool[TaskT, ResultT] = _Pool(function, tasks, limit, fork, kin)
    if pool.forks:
        prepare()
    try:
        for _ in range(min(workers, len(tasks))):
            pool.start()
        while pool.busy:
            for connection in wait([*pool.busy], pool.patience()):
                assert isinstance(connection, Connection)
                yield pool.receive(connection)
            for connection in pool.overdue():
                yield pool.give_up(connection)
    finally:
        pool.stop()


class _Pool(Generic[TaskT, ResultT]):
    def __init__(
        self,
        function: Callable[[TaskT], ResultT],
        tasks: Sequence[TaskT],
        limit: float | None,
        fork: bool,
        kin: Callable[[TaskT], Hashable],
    ) -> None:
        self._function = function
        self._limit = limit
        self._deadlines: dict[Connection, float] = {}
        self._waiting: dict[Hashable, deque[tuple[int, TaskT]]] = {}
        for index, task in enumerate(tasks):
            self._waiting.setdefault(kin(task), deque()).append((index, task))
        self._last: dict[Connection, Hashable] = {}
        """Of which kin the last task of each process was."""
        # A fork is by far the cheapest start, and safe only where nothing runs beside us: no thread, no system library
        # with threads of its own as on macOS.
        self.forks = fork and sys.platform == "linux" and threading.active_count() == 1
        self._context = multiprocessing.get_context("fork" if self.forks else "spawn")
        self._processes: dict[Connection, BaseProcess] = {}
        self.busy: dict[Connection, int] = {}

    def start(self) -> None:
        """Start one more process and give it a task."""
        ours, theirs = self._context.Pipe()
        # Ends that a fork inherits would keep the pipes open, and the workers waiting, when we are gone.
        inherited = (*self._processes, ours) if self.forks else ()
        process = self._context.Process(target=_work, args=(self._function, theirs, inherited), daemon=True)  # type: ignore[attr-defined]
        place: AbstractContextManager[None] = nullcontext() if self.forks else _away()
        with _signals_blocked(), place, warnings.catch_warnings():
            # Python 3.12 warns of any thread of any library; numeric ones have idle threads, and are made to be forked.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        self._processes[ours] = process
        self._give(ours, 0.0 if self.forks else _FIRST)

    def _give(self, connection: Connection, extra: float = 0.0) -> None:
        index, task = self._next(connection)
        self.busy[connection] = index
        if self._limit is not None:
            self._deadlines[connection] = time.monotonic() + self._limit + extra
        with suppress(OSError):  # the process died; `receive` finds out and says so
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

    def receive(self, connection: Connection) -> tuple[int, ResultT | Died]:
        """The answer that a process has ready; then give that process, or its successor, the next task."""
        index = self.busy.pop(connection)
        try:
            answer: ResultT | Died = connection.recv()
        except (EOFError, OSError):
            answer = Died(self._bury(connection))
            if self._waiting:
                self.start()
        else:
            if self._waiting:
                self._give(connection)
        return index, answer

    def patience(self) -> float | None:
        """Seconds until the first process is overdue; None where none ever is."""
        if self._limit is None:
            return None
        return max(0.0, min(self._deadlines[connection] for connection in self.busy) - time.monotonic())

    def overdue(self) -> list[Connection]:
        """The processes whose time is up and that have no answer ready."""
        if self._limit is None:
            return []
        now = time.monotonic()
        return [one for one in self.busy if self._deadlines[one] <= now and not one.poll()]

    def give_up(self, connection: Connection) -> tuple[int, ResultT | Died]:
        """Kill a process, and let a successor have the next task."""
        index = self.busy.pop(connection)
        self._processes[connection].kill()
        self._bury(connection)
        if self._waiting:
            self.start()
        return index, Died(f"no answer within {self._limit:g} s")

    def _bury(self, connection: Connection) -> str:
        process = self._processes.pop(connection)
        self._deadlines.pop(connection, None)
        self._last.pop(connection, None)
        connection.close()
        process.join()
        return _ending(process.exitcode or 0)

    def stop(self) -> None:
        """End all processes, whatever they do."""
        for process in self._processes.values():
            process.terminate()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes.clear()
        self.busy.clear()


def _work(function: Callable[[TaskT], ResultT], connection: Connection, inherited: tuple[Connection, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C too, and ends its workers
    signal.signal(
        signal.SIGTERM, signal.SIG_DFL
    )  # a handler would have to wait for what the worker is in the middle of
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    for other in inherited:
        other.close()
    while True:
        try:
            connection.send(function(connection.recv()))
        except (EOFError, OSError):
            return  # the parent is gone


@contextmanager
def _away() -> Iterator[None]:
    """Stand among the modules of Python while a process starts that is no fork, which comes back before it works.

    It begins with `python -c`, which looks for modules in the folder where it stands first.
    """
    here = os.getcwd()
    os.chdir(os.path.dirname(os.__file__))
    try:
        yield
    finally:
        os.chdir(here)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    # Workers inherit the mask: a signal before they could see to it would make them print a traceback.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
