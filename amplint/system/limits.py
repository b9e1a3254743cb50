"""What one file may cost, in processor time and memory: beyond that it is given up on, so that no file stalls a run.

A timer of the operating system interrupts the main thread several times a second of processor time. Python runs what answers it
between two instructions of its own, so a call into native code is not interrupted: parsers are therefore given no text that
would take them past the limit. Where there is no such timer (on Windows, in other threads, while a profiler uses it), the same
look is taken between rules.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

SECONDS = 30.0
"""Processor time for one file."""
MEMORY = 900_000_000
"""Bytes by which the process may grow for one file: with what it takes to begin with, less than a gigabyte."""
WORDS = 1_200_000
"""Words and marks of a text that is parsed; Python's own parser takes up to 700 bytes for each."""
RELEVANT_WORDS = 250_000
"""Words and marks that are parsed by LibCST, which takes up to 3,000 bytes for each."""
STALLED = 600.0
"""Seconds by the clock after which a process that still has no answer is ended: something native hangs."""

_TICK = 0.1
_PAUSE = 0.02
"""Seconds of processor time between two looks at the memory."""
_WORD = re.compile(r"\w+|[^\w ]")


class TooCostly(BaseException):
    """The file costs more than a file may; the message says what of. No `Exception`: whatever a rule catches, it is not this."""


class Withdrawn(BaseException):
    """Nobody waits for the answer any more. No `Exception`, for the same reason."""


class TextTooLong(Exception):
    """A text is longer than a parser may be given."""


def refuse_long(text: str, most: int) -> None:
    """Refuse a text that is so long that a parser would take too much memory for it.

    Args:
        text: what is to be parsed.
        most: the most words and marks that it may have.

    Raises:
        TextTooLong: it has more.
    """
    if len(text) > most and any(number == most for number, _ in enumerate(_WORD.finditer(text))):
        raise TextTooLong


@contextmanager
def bounded() -> Iterator[None]:
    """Hold what runs inside to the limits; inside of another such block, that one's count.

    Raises:
        TooCostly: what runs inside exceeds one of them.
    """
    global _watch
    if _watch is not None:
        yield
        return
    _watch = _Watch()
    others = sys.unraisablehook
    sys.unraisablehook = partial(_tell_unraisable, others)
    ticking = _start_ticking()
    try:
        yield
    finally:
        _watch = None  # first of all: a late tick finds nothing to look at
        if ticking:
            signal.setitimer(signal.ITIMER_PROF, 0)
        sys.unraisablehook = others


def look() -> None:
    """Compare what was spent with the limits.

    Raises:
        TooCostly: it is more.
    """
    if _watch is not None:
        _watch.look()


def breathe() -> None:
    """The same, at a place where nothing is half done, so that what nobody wants any more can end there.

    Raises:
        TooCostly: it is more.
        Withdrawn: nobody wants the answer.
    """
    look()
    if not _is_wanted():
        raise Withdrawn


@contextmanager
def while_wanted(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Let what runs inside end early, at the next `breathe`, once nobody wants its answer.

    Args:
        is_wanted: whether somebody still does; asked often.

    Raises:
        Withdrawn: it has ended early.
    """
    global _is_wanted
    _is_wanted = is_wanted
    try:
        yield
    finally:
        _is_wanted = _always


class _Watch:
    def __init__(self) -> None:
        self._began = time.process_time()
        self._looked = 0.0
        self._resident = _resident()

    def look(self) -> None:
        now = time.process_time()
        if now - self._began > SECONDS:
            raise TooCostly(f"took more than {SECONDS:g} s")
        if now - self._looked < _PAUSE:
            return
        self._looked = now
        if _resident() - self._resident > MEMORY:
            raise TooCostly(f"took more than {MEMORY / 1e9:g} GB of memory")


def _always() -> bool:
    return True


_watch: _Watch | None = None
_is_wanted = _always


def _start_ticking() -> bool:
    if not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_PROF)[0]:
        return False
    if signal.getsignal(signal.SIGPROF) not in (signal.SIG_DFL, _answer):
        return False
    try:
        # It stays when the timer stops: without it, a tick that is under way would end the process.
        signal.signal(signal.SIGPROF, _answer)
    except ValueError:
        return False  # another thread than the main one, which alone would be interrupted
    signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
    return True


def _answer(*_: object) -> None:
    look()


def _tell_unraisable(others: Callable[[sys.UnraisableHookArgs], object], found: sys.UnraisableHookArgs) -> None:
    """Say nothing of a tick that came in a destructor, where Python drops what is raised: the next tick raises again."""
    if not isinstance(found.exc_value, TooCostly):
        others(found)


def _resident() -> int:
    """Bytes of memory that the process holds now; where only the most it ever held is told, that; 0 where nothing is."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS, which is what gets here


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
