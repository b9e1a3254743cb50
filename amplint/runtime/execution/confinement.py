"""What the author's code may not do: reach the network or other processes, change files, take more than its share.

Three walls. The limits of the operating system bound processor time, memory and what is written. Python asks a hook before it
opens, connects or starts something, and the hook refuses with a word that says what. Behind it, on Linux, the kernel refuses
the same to whatever does not ask Python (`system_calls`); elsewhere this wall is missing, and compiled code is not held.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from amplint.runtime.execution import system_calls

SECONDS = 20
"""Of processor time."""
WAIT = 30.0
"""Seconds by the clock after which there is no more waiting."""
MEMORY = 2_000_000_000
"""Bytes by which the address space may grow."""
ANSWER = 64_000_000
"""Bytes that may be written."""

_HARMLESS = frozenset({"socket.gethostname"})
_REFUSED = {
    "socket": "connecting to the network", "subprocess": "starting a process", "pty": "starting a process",
    "sqlite3": "writing files", "shutil": "writing files", "signal.pthread_kill": "sending signals",
    "resource.setrlimit": "changing limits", "resource.prlimit": "changing limits",
}  # fmt: skip
_OF_OS = {
    "starting a process": "system fork forkpty exec posix_spawn spawn startfile",
    "sending signals": "kill killpg",
    "writing files": "remove rename mkdir rmdir link symlink truncate chmod chown lchown utime setxattr removexattr mkfifo",
}
_REFUSED.update({f"os.{name}": what for what, names in _OF_OS.items() for name in names.split()})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine() -> None:
    """Confine this process for the rest of its life."""
    _limit()
    sys.addaudithook(_ask)
    system_calls.refuse()


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_CPU": SECONDS, "RLIMIT_FSIZE": ANSWER, "RLIMIT_CORE": 0, "RLIMIT_AS": _address_space() + MEMORY}
    for name, most in wanted.items():
        with suppress(AttributeError, OSError, ValueError):  # not known here, or lower already
            resource.setrlimit(getattr(resource, name), (most, most + 1))  # a signal first, which tells what it is for


def _address_space() -> int:
    with suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 2**40


def _ask(event: str, args: tuple[object, ...]) -> None:
    what = _REFUSED.get(event) or _REFUSED.get(event.partition(".")[0])
    if event == "open" and len(args) > 2 and isinstance(args[2], int) and args[2] & _WRITING and args[0] != os.devnull:
        what = "writing files"
    if what and event not in _HARMLESS:
        raise PermissionError(f"{what} is refused")
