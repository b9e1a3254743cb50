"""One line on a terminal that says how far a traced program is, and gives way to whatever the program writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from amplint.cli.console import say
from amplint.tracing.step_record import StepRecord

_PACE = 0.2
"""Seconds between two lines."""
_WIPED = "\r\x1b[K"


class LiveLine:
    """Shows the steps of a program that runs beside it; nothing where standard error is no terminal.

    Args:
        quiet: nothing is shown in any case.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._is_on = False
        self._is_shown = False
        self._is_free = True
        self._next = 0.0
        self._skipped = 0

    @contextmanager
    def beside_program(self) -> Iterator[None]:
        """The program runs inside: what it writes to the terminal finds an empty line."""
        self._is_on = not self._quiet and sys.stderr.isatty()
        streams = [one for one in (sys.stdout, sys.stderr) if self._is_on and one.isatty()]
        for stream in streams:
            setattr(stream, "write", self._giving_way(stream.write))  # noqa: B010  (typed as a method)
        try:
            yield
        finally:
            self._is_on = False
            for stream in streams:
                vars(stream).pop("write", None)
            self._wipe()

    def show(self, step: StepRecord) -> None:
        """Say that a step is over, now and then, and not behind what the program has left on its line."""
        self._skipped += not step.taken
        now = time.monotonic()
        if self._is_on and self._is_free and now >= self._next:
            self._next = now + _PACE
            scale = f", scale {step.scale:g}" if step.scale is not None else ""
            skipped = f", {self._skipped} skipped" if step.scale is not None else ""
            self._put(sys.stderr, f"{_WIPED}amplint trace: step {step.number}{scale}{skipped}")
            self._is_shown = True

    def _giving_way(self, write: Callable[[str], Any]) -> Callable[[str], Any]:
        def written(text: str) -> Any:
            self._wipe()
            if text:
                self._is_free = text.endswith("\n")
            return write(text)

        return written

    def _wipe(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._put(sys.stderr, _WIPED)

    def _put(self, stream: TextIO, text: str) -> None:
        before, self._is_shown = self._is_shown, False  # what is written here gives way to nothing
        is_free = self._is_free
        say(stream, text)
        self._is_shown, self._is_free = before, is_free
