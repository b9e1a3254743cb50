"""A process that has imported what others need, and becomes one of them for each order that it gets (`forked`).

It imports nothing of its own that `python` would not find there.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

_LONGEST = 1 << 20
"""The length of an order."""


def _serve(orders: socket.socket) -> dict[str, Any]:
    """Fork for each order; returns the order in the process that is to follow it."""
    while True:
        first, files, _, _ = socket.recv_fds(orders, 1, 4)
        if not first:
            sys.exit()
        with orders.makefile("rb", buffering=0) as rest:
            order: dict[str, Any] = json.loads(first + rest.readline(_LONGEST))
        if not os.fork():
            orders.close()
            _tell_its_end(files[0])
            for number, file in enumerate(files[1:]):
                os.dup2(file, number)
            os.closerange(3, max(files) + 1)
            return order
        for file in files:
            os.close(file)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _tell_its_end(answers: int) -> None:
    """Fork again, tell the number of that process, and how it ends; returns in it alone."""
    pid = os.fork()
    if pid:
        os.write(answers, f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(answers, f"{code}\n".encode())
        os._exit(0)


def _begin(cwd: str, env: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Become what `python` with these arguments would be."""
    os.chdir(cwd)
    if call_sites := sys.modules.get("amplint.runtime.recording.call_sites"):
        vars(call_sites)["_HERE"] = os.path.join(cwd, "")  # where the program began, which is known since its import
    os.environ.clear()
    os.environ.update(env)
    if (threads := env.get("OMP_NUM_THREADS")) and (torch := sys.modules.get("torch")):
        torch.set_num_threads(int(threads))
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in env
    how, *rest = arguments
    first = {"-m": cwd, "-c": ""}.get(how, os.path.dirname(os.path.abspath(how)))
    sys.path[:] = [first, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep)), *sys.path[1:]]
    if how == "-m":
        sys.argv = ["-m", *rest[1:]]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif how == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(rest[0], {"__name__": "__main__"})
    else:
        sys.argv = [*arguments]
        runpy.run_path(how, run_name="__main__")


def _import(names: Sequence[str]) -> None:
    """Import what is installed of some modules, and let the collector of garbage leave it alone."""
    for name in names:
        with suppress(ModuleNotFoundError):
            import_module(name)
    gc.collect()
    gc.freeze()


class _Ending:
    """How the program ends: as ever, but that Python does not clear, object by object, what it holds."""

    def __init__(self) -> None:
        self._code = 0
        atexit.register(self._leave)  # before all others, so that it is called after them

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            code = error.code if isinstance(error, SystemExit) else 1
            self._code = code if isinstance(code, int) else int(code is not None)

    def _leave(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(self._code)


if __name__ == "__main__":
    _ending = _Ending()
    _import(sys.argv[2:])
    _order = _serve(socket.socket(fileno=int(sys.argv[1])))
    with _ending:
        _begin(**_order)
