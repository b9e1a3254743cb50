"""System calls that the kernel refuses a process, once and for all: a filter that no code in the process can lift (seccomp).

Refused is what reaches others: connections, new processes, signals, changes to files, more of the rights and limits that the
process has. What is left is reading, memory, threads, and what the process has open.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import signal
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple


class _Machine(NamedTuple):
    """A kind of processor: its audit number, its first foreign call number, and its numbers of the system calls."""

    audit: int
    foreign: int
    calls: dict[str, int]


# fmt: off
_X86_64 = {
    "socket": 41, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "kill": 62, "tkill": 200, "tgkill": 234,
    "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424, "pidfd_getfd": 438, "ptrace": 101,
    "process_vm_readv": 310, "process_vm_writev": 311, "creat": 85, "truncate": 76, "rename": 82, "renameat": 264,
    "renameat2": 316, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "unlink": 87, "unlinkat": 263, "link": 86, "linkat": 265,
    "symlink": 88, "symlinkat": 266, "mknod": 133, "mknodat": 259, "chmod": 90, "fchmod": 91, "fchmodat": 268,
    "fchmodat2": 452, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235,
    "utimensat": 280, "futimesat": 261, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
    "lremovexattr": 198, "fremovexattr": 199, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "unshare": 272, "setns": 308, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
    "bpf": 321, "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250, "init_module": 175,
    "finit_module": 313, "delete_module": 176, "kexec_load": 246, "reboot": 169, "setrlimit": 160,
    "open_by_handle_at": 304, "kexec_file_load": 320,
    "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "clock_settime": 227, "settimeofday": 164,
    "sethostname": 170, "setdomainname": 171, "swapon": 167, "swapoff": 168, "acct": 163, "iopl": 172, "ioperm": 173,
    "fspick": 433, "io_uring_setup": 425,
    "open": 2, "openat": 257, "openat2": 437, "clone": 56, "clone3": 435, "prlimit64": 302, "ioctl": 16,
}
_AARCH64 = {
    "socket": 198, "execve": 221, "execveat": 281, "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138,
    "rt_tgsigqueueinfo": 240, "pidfd_send_signal": 424, "pidfd_getfd": 438, "ptrace": 117, "process_vm_readv": 270,
    "process_vm_writev": 271, "truncate": 45, "renameat": 38, "renameat2": 276, "mkdirat": 34, "unlinkat": 35, "linkat": 37,
    "symlinkat": 36, "mknodat": 33, "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54,
    "utimensat": 88, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
    "fremovexattr": 16, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442, "bpf": 280,
    "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219, "init_module": 105, "finit_module": 273,
    "delete_module": 106, "kexec_load": 104, "reboot": 142, "setrlimit": 164, "open_by_handle_at": 265, "kexec_file_load": 294,
    "shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180, "clock_settime": 112, "settimeofday": 170,
    "sethostname": 161, "setdomainname": 162, "swapon": 224, "swapoff": 225, "acct": 89, "fspick": 433, "io_uring_setup": 425,
    "openat": 56, "openat2": 437, "clone": 220, "clone3": 435, "prlimit64": 261, "ioctl": 29,
}
# fmt: on
_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0x40000000, _X86_64),
    "aarch64": _Machine(0xC00000B7, 0xFFFFFFFF, _AARCH64),
}

_WRITES = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000
"""Flags of `open`: write only, read and write, create, truncate, and what makes a file without a name."""
_THREAD = 0x10000
_TYPED_IN = (0x5412, 0x541C)
"""What puts words into the mouth of whoever sits at a terminal."""

_LOAD, _EQUAL, _ANY, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4
_SET_FILTER, _ALL_THREADS = 1, 1
_NO_NEW_PRIVILEGES, _PARENT_DEATH = 38, 1


def refuse() -> bool:
    """Have the kernel refuse these calls to all threads of this process from now on; returns whether it does."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None or sys.maxsize < 2**32:
        return False
    program = b"".join(_program(machine))
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    number = 317 if machine.calls is _X86_64 else 277
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.syscall(number, _SET_FILTER, _ALL_THREADS, ctypes.create_string_buffer(header)) == 0)


def die_with_parent() -> None:
    """Have this process killed as soon as the one that started it is gone, whatever it does by then."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)


def _program(machine: _Machine) -> Iterator[bytes]:
    """The filter, in the machine language of packet filters: two bytes of code, two jumps, a number."""
    calls = machine.calls
    refused = _REFUSE | errno.EPERM
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, machine.audit, if_true=1)
    yield _step(_RETURN, refused)
    yield _step(_LOAD, _NUMBER)
    yield _step(_AT_LEAST, machine.foreign, if_false=1)
    yield _step(_RETURN, refused)
    for name in ("clone3", "openat2"):  # their arguments cannot be looked at: absent, so that the older calls are used
        yield from _if_call(calls[name], [_step(_RETURN, _REFUSE | errno.ENOSYS)])
    yield from _if_call(calls["clone"], _unless_any(0, _THREAD, refused))
    for name, place in (("open", 1), ("openat", 2)):
        if name in calls:
            yield from _if_call(calls[name], _if_any(place, _WRITES, _REFUSE | errno.EROFS))
    yield from _if_call(calls["prlimit64"], _if_not_null(2, refused))
    for request in _TYPED_IN:
        yield from _if_call(calls["ioctl"], [_argument(1), _step(_EQUAL, request, if_false=1), _step(_RETURN, refused)])
    special = {"clone", "clone3", "open", "openat", "openat2", "prlimit64", "ioctl"}
    for name in calls.keys() - special:
        yield from _if_call(calls[name], [_step(_RETURN, refused)])
    yield _step(_RETURN, _ALLOW)


def _step(code: int, number: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, number)


def _argument(place: int, high: bool = False) -> bytes:
    return _step(_LOAD, 16 + 8 * place + 4 * high)


def _if_call(number: int, then: list[bytes]) -> Iterator[bytes]:
    """What is done about one call; then the number of the call is loaded again, for what comes next."""
    yield _step(_EQUAL, number, if_false=len(then) + 1)
    yield from then
    yield _step(_LOAD, _NUMBER)


def _if_any(place: int, bits: int, answer: int) -> list[bytes]:
    return [_argument(place), _step(_ANY, bits, if_false=1), _step(_RETURN, answer)]


def _unless_any(place: int, bits: int, answer: int) -> list[bytes]:
    return [_argument(place), _step(_ANY, bits, if_true=1), _step(_RETURN, answer)]


def _if_not_null(place: int, answer: int) -> list[bytes]:
    both = (_argument(place, high) for high in (False, True))
    return [step for half in both for step in (half, _step(_EQUAL, 0, if_true=1), _step(_RETURN, answer))]
