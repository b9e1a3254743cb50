"""Reads files that somebody else wrote: regular ones of a bounded size, and nothing that could hang or fill the memory.

A cloned repository may hold anything under any name: a link to `/dev/zero`, a named pipe that nobody writes to, a file of
terabytes with nothing in it. Whatever amplint reads of a tree it reads through this module.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple

SOURCE_LIMIT = 128 * 2**20
"""Bytes that a source file or a notebook may have."""
SETTINGS_LIMIT = 2**20
"""Bytes that a configuration file, an ignore file or a wrapper may have."""
_CLOCK_NS = 2_000_000_000
"""The coarsest resolution of file times there is (FAT), in nanoseconds."""

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that takes the place of a file at the last moment must not hang
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Stamp(NamedTuple):
    """What tells without reading it whether a file has changed, under the names of `os.stat_result`."""

    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int


_held: dict[str, bytes] = {}


def hold(texts: Mapping[str, bytes]) -> None:
    """From now on, read these texts in the place of the files at their paths: an editor holds them, saved or not.

    Args:
        texts: the texts, by the absolute path of the file; they take the place of those that were held before.
    """
    global _held
    _held = dict(texts)  # in one step: another thread may be reading


def stamp(path: str | os.PathLike[str]) -> os.stat_result | Stamp:
    """What tells whether a file has changed; no file on the disk has the stamp of a text that an editor holds.

    Raises:
        OSError: the file cannot be looked at.
    """
    held = _held.get(os.fspath(path)) if _held else None
    # A negative time stands for the content: it was before any clock, and is believed at once.
    return os.stat(path) if held is None else Stamp(len(held), -1 - int.from_bytes(_digest(held), "big"), -1)


def is_settled(status: os.stat_result | Stamp) -> bool:
    """Whether a stamp was taken well after the last change: within the resolution of the clock, a file can change and keep it."""
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) >= _CLOCK_NS


def _digest(data: bytes) -> bytes:
    from hashlib import blake2b  # only where an editor holds texts

    return blake2b(data, digest_size=7).digest()


class Unreadable(OSError):
    """A file is none that amplint reads; `strerror` says why, in one line."""


def explained(error: OSError) -> str:
    """What is wrong with which file, in words alone."""
    why = error.strerror or str(error)
    return f"{error.filename}: {why}" if error.filename else why


def read_file(path: str | os.PathLike[str], limit: int = SOURCE_LIMIT) -> bytes:
    """The content of a regular file of a bounded size, whoever wrote it.

    Args:
        path: the file; links are followed.
        limit: the most bytes that it may have.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger; `strerror` says which, in one line.
    """
    text = _held.get(os.fspath(path)) if _held else None
    if text is not None:
        return text
    try:
        _refuse(os.stat(path), limit)  # merely to open some devices does something
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:  # a NUL in the name
        raise Unreadable(errno.EINVAL, "not a path") from error
    try:
        status = os.fstat(descriptor)
        _refuse(status, limit)
        # One byte more tells the end of the file, and whether it has grown meanwhile.
        wanted = status.st_size + 1
        parts: list[bytes] = []
        held = 0
        while part := os.read(descriptor, min(wanted, limit + 1 - held)):
            parts.append(part)
            held += len(part)
            if held > limit:
                raise _too_large(limit)
            wanted = max(wanted - len(part), 2**16)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def read_stream(stream: BinaryIO) -> bytes:
    """What is left in a binary stream, if that is not too much.

    Raises:
        OSError: it cannot be read, or holds more.
    """
    data = stream.read(SOURCE_LIMIT + 1)
    if len(data) > SOURCE_LIMIT:
        raise _too_large(SOURCE_LIMIT)
    return data


def is_below(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a place below a folder, wherever links on the way lead.

    Args:
        path: the path, which need not exist.
        root: the folder.
    """
    try:
        above = os.path.realpath(root).rstrip(os.sep) + os.sep
        return os.path.realpath(path).startswith(above)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as a person reads it: as seen from the current folder if it lies below that, else as it is."""
    inside = os.path.relpath(path)
    return os.fspath(path) if inside.startswith(os.pardir) else inside


def _refuse(status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(errno.EINVAL, "not a regular file")
    if status.st_size > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> Unreadable:
    return Unreadable(errno.EFBIG, f"larger than {limit >> 20} MiB")
