"""Turns, each in a process of its own that knows nothing of the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from amplint.engine.pool_worker import ending
from amplint.profile.turn import Turn

ToldT = TypeVar("ToldT")


_ENDS_WITHIN = 5.0
"""Seconds that a program may take to end once it is interrupted."""


class TurnDied(Exception):
    """A process did not live to tell anything; the message says how it ended."""


def in_process(function: Callable[[Turn], ToldT], turn: Turn, said: str) -> ToldT:
    """Call a function in a fresh process; what the program prints is left out.

    A fork is by far the cheapest, for torch is there already; this process must not have used a GPU, nor computed.
    Where the user interrupts this process, the function is interrupted, and its answer still taken.

    Args:
        function: a function of a module.
        turn: what it is called with.
        said: the file for what the program says on standard error.

    Raises:
        TurnDied: the process ended without an answer.
    """
    forks = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if forks else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(function, turn, said, theirs))  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of idle threads of libraries that are made to be forked
        process.start()
    theirs.close()
    try:
        answer: ToldT = _answer(process, ours)
        return answer
    except EOFError:
        process.join()
        raise TurnDied(ending(process.exitcode or 0)) from None
    finally:
        process.kill()
        process.join()
        ours.close()


def _answer(process: BaseProcess, connection: Connection) -> Any:
    try:
        return connection.recv()
    except KeyboardInterrupt:
        if not connection.poll(1.0) and process.pid is not None:  # a terminal interrupts both, `kill` this one only
            os.kill(process.pid, signal.SIGINT)
        if connection.poll(_ENDS_WITHIN):
            return connection.recv()
        raise


def _work(function: Callable[[Turn], ToldT], turn: Turn, said: str, connection: Connection) -> None:
    """Answer, and leave: what threads the program still has are nobody's any more."""
    nowhere, heard = os.open(os.devnull, os.O_RDWR), os.open(said, os.O_WRONLY | os.O_TRUNC)
    for number, target in enumerate((nowhere, nowhere, heard)):
        os.dup2(target, number)
    connection.send(function(turn))
    os._exit(0)
