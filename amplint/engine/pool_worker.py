"""The other side of a pool: what runs in each of its processes, and how such a process starts and ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

PROCESSOR_ALARM = getattr(signal, "SIGPROF", None)
"""What ends a process that has used up its processor time."""


def work(
    function: Callable[[TaskT], ResultT],
    connection: Connection,
    inherited: tuple[Connection, ...],
    limit: float | None,
    first: float,
) -> None:
    """What a process of a pool does: a task at a time, until nobody is there to send one.

    Args:
        function: what it runs.
        connection: where tasks come from, and answers go.
        inherited: connections of others, which a fork holds as well.
        limit: the seconds of processor time that a task may take.
        first: the seconds that the first task gets on top.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C too, and ends its workers
    # A handler would have to wait for what the worker is in the middle of.
    own = [signal.SIGTERM, *([PROCESSOR_ALARM] if PROCESSOR_ALARM is not None else [])]
    for each in own:
        signal.signal(each, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, own)
    for other in inherited:
        other.close()
    while True:
        try:
            task = connection.recv()
            with _processor_time(None if limit is None else limit + first):
                answer = function(task)
            connection.send(answer)
            first = 0.0
        except (EOFError, OSError):
            return  # the parent is gone


@contextmanager
def _processor_time(limit: float | None) -> Iterator[None]:
    """Let this process use up so many seconds of processor time, with all of its threads, and no more."""
    if limit is None or not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


@contextmanager
def away() -> Iterator[None]:
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
def signals_blocked() -> Iterator[None]:
    """Keep signals waiting while a process starts."""
    # Workers inherit the mask: a signal before they could see to it would make them print a traceback.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ending(exit_code: int) -> str:
    """How a process ended, in words."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
