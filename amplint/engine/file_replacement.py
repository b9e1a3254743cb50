"""Replaces a file by its fixed text: whole or not at all, and only if nobody else has changed it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from amplint.system import atomic
from amplint.system.reading import read_file


class FixError(Exception):
    """A file could not be written; the message is one line without the path. The file is as it was."""


class Changed(FixError):
    """Another program changed the file after it was read."""


def write(path: Path, expected: bytes, new: bytes, others: Iterable[str] = ()) -> None:
    """Replace the content of a file in one step; whoever looks sees the old content or the new one.

    Permissions and, where allowed, ownership stay; of a symbolic link it is the file behind it that is replaced.

    Args:
        path: the file.
        expected: what it holds, if nobody has changed it since it was read.
        new: what it is to hold.
        others: names of the file that still shall be hard links of it afterwards; any other name keeps the old content.

    Raises:
        Changed: the file does not hold `expected` any more.
        FixError: it is read-only, or the disk refuses.
    """
    target = os.path.realpath(path)
    try:
        _refuse_changed(target, expected)
        if not os.access(target, os.W_OK):
            raise FixError("cannot be written: it is read-only")
        linked = [name for name in others if os.path.lexists(name) and os.path.samefile(name, target)]
        atomic.replace(target, new, last_look=lambda: _refuse_changed(target, expected))
    except OSError as error:
        raise FixError(f"cannot be written: {error.strerror or error}") from error
    for name in linked:
        _follow(target, name)


def _follow(target: str, name: str) -> None:
    """Make a hard link of the file that was there one of the file that took its place."""
    try:
        if not os.path.samefile(target, name):  # another way to spell its path, or another run was here
            atomic.relink(target, name)
    except OSError as error:
        raise FixError(f"is fixed, but not under its other name {name}: {error.strerror or error}") from error


def _refuse_changed(target: str, expected: bytes) -> None:
    if not stat.S_ISREG(os.stat(target).st_mode):
        raise FixError("cannot be written: not a regular file")
    if read_file(target) != expected:
        raise Changed("changed on disk since it was read; not fixed")
