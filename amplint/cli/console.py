"""What the program says besides its report: problems, notes, progress. All of it goes to stderr."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing found; findings; something was not checked; Ctrl-C, as shells count it."""

_PATIENCE = 1.0  # seconds until progress is shown
_PACE = 0.1  # seconds between two updates of it


def say(stream: TextIO, text: str) -> None:
    """Write to a stream; once nobody reads it any more (`| head`), do nothing, so that the exit code stays right."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        abandon(stream)


def abandon(stream: TextIO) -> None:
    """Give a stream that nobody reads somewhere to go: Python will flush it once more at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour what goes to a stream; `choice` is `auto`, `always` or `never`."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Console:
    """What is said to the user of one run, and whether anything went wrong.

    Args:
        quiet: nothing but problems.
        verbose: details, too.
        color: when to colour, as for `wants_color`.
    """

    def __init__(self, quiet: bool = False, verbose: bool = False, color: str = "auto") -> None:
        self.failed = False
        self.verbose = verbose
        self._quiet = quiet
        self._colored = wants_color(color, sys.stderr)
        self._problems: set[str] = set()
        self._began = time.monotonic()
        self._shown = 0.0

    def problem(self, display: str, message: str) -> None:
        """Something was not checked: the run has failed. What was said before is not said again."""
        self.failed = True
        self._line("error", "1;31", f"{display}: {message}" if display else message)

    def warning(self, display: str, message: str) -> None:
        """Something is not as the user may think, and yet all was checked."""
        self._line("warning", "1;33", f"{display}: {message}" if display else message)

    def note(self, text: str) -> None:
        """A line of the summary."""
        if not self._quiet:
            say(sys.stderr, f"{text}\n")

    def detail(self, text: str) -> None:
        """A line for those who want to know."""
        if self.verbose:
            say(sys.stderr, f"{text}\n")

    def _line(self, kind: str, style: str, text: str) -> None:
        text = " ".join(text.split("\n"))
        if text not in self._problems:
            self._problems.add(text)
            say(sys.stderr, (f"\x1b[{style}m{kind}:\x1b[0m " if self._colored else f"{kind}: ") + f"{text}\n")

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def progress(self, done: int, total: int, noun: str = "files") -> None:
        """Show how far the run is: on a terminal, once it takes long enough to wonder, and not too often."""
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
