"""The file that evidence, or the steps of a traced run, go to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from amplint.cli.console import Console
from amplint.cli.reporting import put, refuse_astray
from amplint.report.evidence import record
from amplint.runtime.evidence import Evidence
from amplint.system.atomic import is_stream


class Ledger:
    """The file, if one is wanted, that evidence goes to as soon as there is some: what a long run had is not lost with it.

    What the file held before stays until there is a first line to take its place. What cannot be written is told once, and
    ends the writing.

    Args:
        path: the file; None where none is wanted.
        console: hears of what cannot be written.
    """

    def __init__(self, path: Path | None, console: Console) -> None:
        self._path, self._console = path, console
        self._file: BinaryIO | None = None
        self._begun = False

    def open(self) -> bool:
        """Whether the file, if there is to be one, can be written."""
        if self._path is None:
            return True
        with self._telling():
            refuse_astray(self._path)
            self._file = _appending(self._path)
            self._begun = is_stream(self._path)
        return self._file is not None

    def keep(self, evidence: Evidence) -> None:
        """Write the evidence on one finding."""
        self.keep_line(record.line(evidence))

    def keep_line(self, line: str) -> None:
        """Write a line, with its end."""
        self._write(line.encode("utf-8", "backslashreplace"))

    def end(self) -> None:
        """The run is over: where there is no evidence, the file no longer holds any."""
        if not self._begun:
            self._write(b"")

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, data: bytes) -> None:
        if self._file is None or self._path is None:
            return
        with self._telling():
            if self._begun:
                _append(self._file, data)
                return
            put(self._path, data)
            self._file.close()
            self._file = _appending(self._path)
            self._begun = True

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._console.problem(str(self._path), f"cannot be written: {error.strerror or error}")
            self.close()


def _appending(path: Path) -> BinaryIO:
    return open(path, "ab", buffering=0)  # unbuffered: nothing is left to fail when it is closed


def _append(file: BinaryIO, data: bytes) -> None:
    """Write whole lines, or raise and leave the file without a part of one."""
    before = os.fstat(file.fileno()).st_size
    done = 0
    try:
        while done < len(data):
            done += file.write(data[done:])
    except OSError:
        if done and file.seekable():
            file.truncate(before)
        raise
