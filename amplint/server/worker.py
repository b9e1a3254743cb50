"""Runs checks one after the other in the main thread, where alone a timer can interrupt one that costs too much."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

Answer = TypeVar("Answer")


class _Job(NamedTuple):
    future: Future[Any]
    call: Callable[[], Any]


class Worker:
    """A queue of calls: the thread that talks to the editor puts them in, the main thread does them."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()

    def submit(self, call: Callable[[], Answer]) -> Future[Answer]:
        """Have something done; the future tells what it came to."""
        future: Future[Answer] = Future()
        self._jobs.put(_Job(future, call))
        return future

    def work(self) -> None:
        """Do what is asked for, without end; what a signal raises ends it."""
        while True:
            job = self._jobs.get()
            if not job.future.set_running_or_notify_cancel():
                continue
            try:
                job.future.set_result(job.call())
            except Exception as error:
                job.future.set_exception(error)
