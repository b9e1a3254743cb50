"""One way to change a file: the new content is written beside it, and takes its place in one step.

Whoever looks finds the old content or the new one, whole; so it stays when the disk is full or the process is killed. What
a kill leaves beside the file is known by its name, and by a lock that ends with the process that holds it: the next run
that writes in the folder removes it, and never what another run is still writing.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that is open
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"\.amplint-[0-9a-f]{16}\.tmp")
_OPEN = re.compile(r"/dev/(std|fd/)|/proc/")
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def replace(path: str | Path, data: bytes, last_look: Callable[[], None] | None = None) -> None:
    """Give a file new content in one step. Behind a link it is the file it leads to that changes; the link stays.

    What the file had it keeps, as far as that is allowed: permissions, owner, group, extended attributes.

    Args:
        path: the file; it need not be there yet, its folder must.
        data: the new content.
        last_look: called when all is written, right before the step; what it raises leaves the file as it was.

    Raises:
        OSError: the file cannot be written, and is as it was.
    """
    target = os.path.realpath(path)
    before = _status(target)
    sweep(os.path.dirname(target))
    handle, beside = _create(os.path.dirname(target), 0o600 if before else 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)  # so that the content outlives a power cut, too
            if before:
                _dress(beside, target, before)
            if fcntl is None:
                file.close()  # Windows renames no open file
            if last_look is not None:
                last_look()
            os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def is_stream(path: str | Path) -> bool:
    """Whether a path is a pipe, a terminal or the like, which has no content to be replaced, but is written to.

    So is what stands for a file that this process has open already, such as `/dev/stdout`.
    """
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)) or bool(_OPEN.match(os.path.abspath(path)))


def sweep(folder: str | Path) -> None:
    """Remove from a folder the half-written files of runs that were killed; those of other users stay."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if entry.name[0] == "." and _NAME.fullmatch(entry.name)]
    except OSError:
        return  # who wants to write there will hear of it
    for path in left:
        with suppress(OSError):
            _remove_abandoned(path)


def relink(target: str, name: str) -> None:
    """Make `name`, in one step, one more name (a hard link) of the file `target`.

    Args:
        target: a file.
        name: a path in the same file system; what lies there goes.

    Raises:
        OSError: this cannot be done; `name` stands for what it stood for.
    """
    beside = _beside(os.path.dirname(name))
    os.link(target, beside)
    try:
        os.replace(beside, name)
    finally:
        with suppress(FileNotFoundError):  # it was renamed
            os.unlink(beside)


def _status(target: str) -> os.stat_result | None:
    """What a file is that may be replaced; None where there is none yet."""
    try:
        before = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not stat.S_ISREG(before.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", target)
    if not os.access(target, os.W_OK):  # a rename would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    return before


def _beside(folder: str) -> str:
    return os.path.join(folder, f".amplint-{os.urandom(8).hex()}.tmp")


def _create(folder: str, mode: int) -> tuple[int, str]:
    while True:
        path = _beside(folder)
        handle = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, mode)
        if fcntl is None:
            return handle, path
        with suppress(OSError):  # a file system without locks: nobody can take the file for abandoned either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # another run swept it away before it was locked


def _remove_abandoned(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    handle = os.open(path, _FLAGS | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or os.geteuid() not in (0, status.st_uid):
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its writer lives
        if os.path.samestat(status, os.lstat(path)):
            os.unlink(path)
    finally:
        os.close(handle)


def _dress(beside: str, target: str, before: os.stat_result) -> None:
    """Give a new file what the old one has besides its content."""
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        mode = _owned(beside, before, mode)
    os.chmod(beside, mode)  # after the ownership, whose change clears set-id bits
    if hasattr(os, "listxattr"):
        _copy_attributes(target, beside)


def _owned(beside: str, before: os.stat_result, mode: int) -> int:
    """Keep owner and group where that is allowed; the permissions that are right for those that the file has then."""
    with suppress(PermissionError):  # only root may give files away
        os.chown(beside, before.st_uid, before.st_gid)
        return mode
    mode &= ~(stat.S_ISUID | stat.S_ISGID)
    with suppress(PermissionError):
        os.chown(beside, -1, before.st_gid)
        return mode
    # It is another group's now: its members may no more than what everybody may.
    return mode & ~stat.S_IRWXG | mode & stat.S_IRWXG & (mode & stat.S_IRWXO) << 3


def _copy_attributes(target: str, beside: str) -> None:
    with suppress(OSError):  # a file system without them
        for name in os.listxattr(target):
            with suppress(OSError):  # one that only the system may set
                os.setxattr(beside, name, os.getxattr(target, name))
