"""What the program says besides its report: problems, notes, progress. All of it goes to stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from amplint.report.escape import printable

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing found; findings; something was not checked; Ctrl-C, as shells count it."""

_PATIENCE = 1.0  # seconds until progress is shown
_PACE = 0.1  # seconds between two updates of it


class Unwritable(Exception):
    """Standard output takes nothing more, although somebody may wait for it; the message is one line."""


def say(stream: TextIO, text: str) -> None:
    """Write to a stream; once nobody reads it any more (`| head`), do nothing, so that the exit code stays right.

    Args:
        stream: standard output or standard error.
        text: what to write, line ends and all.

    Raises:
        Unwritable: the disk is full, or the stream is closed. Where stderr is, there is nobody to tell: nothing is raised.
    """
    with _written(stream):
        stream.write(text)
        stream.flush()


def say_bytes(data: bytes) -> None:
    """Write to standard output, as `say` does."""
    with _written(sys.stdout):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _written(stream: TextIO) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _abandon(stream)
        if not isinstance(error, BrokenPipeError) and stream is not sys.stderr:
            raise Unwritable(f"standard output cannot be written: {error.strerror or 'it is closed'}") from error


def _abandon(stream: TextIO) -> None:
    """Give a stream that takes nothing more somewhere to go: Python will flush it once more at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Put something in the place of standard streams that are closed.

    Else the next file that is opened would get the number of one of them, and with it what is meant for the stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # Reading from it fails, or writing to it, as on a closed stream; what is said where nobody hears is lost.
            setattr(sys, name, open(os.devnull, "r" if name == "stdout" else "w"))
            with suppress(OSError):
                os.set_inheritable(number, True)


def one_line(message: str) -> str:
    """A message, safe to show (see `printable`), its lines joined."""
    return printable(" ".join(message.split("\n")))


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour what goes to a stream.

    Args:
        choice: `auto`, `always` or `never`.
        stream: where it goes; `auto` asks whether that is a terminal, once the environment has no word on it.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Console:
    """What is said to the user of one run, and whether anything went wrong.

    `unchecked` is what was not checked and why: the name of a file, empty for the run as a whole, and the message.

    Args:
        quiet: nothing but problems.
        verbose: details, too.
        color: when to colour, as for `wants_color`.
    """

    def __init__(self, quiet: bool = False, verbose: bool = False, color: str = "auto") -> None:
        self.failed = False
        self.unchecked: list[tuple[str, str]] = []
        self.verbose = verbose
        self._quiet = quiet
        self._colored = wants_color(color, sys.stderr)
        self._problems: set[str] = set()
        self._began = time.monotonic()
        self._shown = 0.0

    def problem(self, display: str, message: str) -> None:
        """Something was not checked: the run has failed. What was said before is not said again.

        Args:
            display: the file that it is about; empty for the run as a whole.
            message: what is wrong, without a final period.
        """
        self.failed = True
        if (display, message) not in self.unchecked:
            self.unchecked.append((display, message))
        self._line("error", "1;31", display, message)

    def warning(self, display: str, message: str) -> None:
        """Something is not as the user may think, and yet all was checked.

        Args:
            display: the file that it is about; empty for the run as a whole.
            message: what the user may not expect, without a final period.
        """
        self._line("warning", "1;33", display, message)

    def note(self, text: str) -> None:
        """A line of the summary."""
        if not self._quiet:
            say(sys.stderr, f"{printable(text)}\n")

    def detail(self, text: str) -> None:
        """A line for those who want to know."""
        if self.verbose:
            say(sys.stderr, f"{printable(text)}\n")

    def _line(self, kind: str, style: str, display: str, message: str) -> None:
        text = (f"{printable(display)}: " if display else "") + one_line(message)
        if text not in self._problems:
            self._problems.add(text)
            say(sys.stderr, (f"\x1b[{style}m{kind}:\x1b[0m " if self._colored else f"{kind}: ") + f"{text}\n")

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def progress(self, done: int, total: int, noun: str = "files") -> None:
        """Show how far the run is: on a terminal, once it takes long enough to wonder, and not too often.

        Args:
            done: how many are done.
            total: how many there are.
            noun: what is counted, in the plural.
        """
        elapsed = self.elapsed
        if self._quiet or elapsed < _PATIENCE or elapsed - self._shown < _PACE or not sys.stderr.isatty():
            return
        self._shown = elapsed
        say(sys.stderr, f"\r\x1b[K{done}/{total} {noun}")

    def end_progress(self) -> None:
        """Wipe the progress away."""
        if self._shown:
            say(sys.stderr, "\r\x1b[K")
            self._shown = 0.0
