"""Runs Python in processes that are forked from one that has imported what they need (`fork_server`), which takes long.

What such a process does not show is how Python itself begins: what the environment tells it then, what is imported from where,
which signals it hears. Tests of that start a process as users do (`program`).
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from checkout import ROOT
from program import environment

_AMPLINT = (
    "amplint.callgraph.linking",
    "amplint.cli.check",
    "amplint.cli.main",
    "amplint.cli.reporting",
    "amplint.engine.caller_rounds",
    "amplint.engine.driven",
    "amplint.engine.linter",
    "amplint.engine.suppression",
    "amplint.flake8_plugin",
    "amplint.report.concise",
    "amplint.report.full",
    "flake8.main.cli",
    *(f"amplint_rules.{path.stem}" for path in sorted((ROOT / "rules").glob("amp*.py"))),
)
_TORCH = (
    *_AMPLINT,
    "torch._dynamo",
    "bokeh.plotting",
    "amplint.cli.profile",
    "amplint.cli.trace",
    "amplint.cli.verify",
    "amplint.profile.turn",
    "amplint.runtime.execution.author_process",
    "amplint.runtime.verify",
    "amplint.tracing.session",
)
_SERVER = Path(__file__).with_name("fork_server.py")


class Forked:
    """A process of Python, with the part of `subprocess.Popen` that is needed here.

    Args:
        arguments: what would follow `python`: `-m MODULE ...`, `-c TEXT ...` or `SCRIPT ...`.
        torch: whether PyTorch has been imported.
        cwd: the folder in which it runs.
        env: its environment.
        streams: its standard input, output and error, open files.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        torch: bool,
        cwd: str | Path,
        env: Mapping[str, str],
        streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    ) -> None:
        self.returncode: int | None = None
        self._answers, theirs = socket.socketpair()
        order = json.dumps({"arguments": arguments, "cwd": os.fspath(cwd), "env": dict(env)}).encode() + b"\n"
        files = [theirs.fileno(), *(stream.fileno() for stream in streams)]
        server = _server(_TORCH if torch else _AMPLINT)
        socket.send_fds(server, [order[:1]], files)
        server.sendall(order[1:])
        theirs.close()
        self.pid = self._number()

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *raised: object) -> None:
        self.wait()
        self._answers.close()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, as `subprocess.Popen.returncode` has it; TimeoutError where it has not ended."""
        if self.returncode is None:
            self._answers.settimeout(timeout)
            self.returncode = self._number()
        return self.returncode

    def poll(self) -> int | None:
        """The exit code; None where it has not ended."""
        has_ended = self.returncode is not None or select.select([self._answers], [], [], 0)[0]
        return self.wait() if has_ended else None

    def _number(self) -> int:
        told = b""
        while not told.endswith(b"\n"):
            told += self._answers.recv(1)
        return int(told)

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def forked_amplint(
    *arguments: str | Path, cwd: Path, site: Path | None = None, stdin: bytes = b"", timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `amplint` with these arguments, as `program.amplint` does."""
    return _run(["-m", "amplint", *map(str, arguments)], False, cwd, timeout, site, stdin)


def forked_python(*arguments: str | Path, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run what would follow `python`."""
    return _run([*map(str, arguments)], False, cwd, 120, stdin=stdin)


def torch_amplint(*arguments: str | Path, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run `amplint` with these arguments, where PyTorch has been imported."""
    return _run(["-m", "amplint", *map(str, arguments)], True, cwd, timeout)


def torch_python(*arguments: str | Path, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run what would follow `python`, where PyTorch has been imported."""
    return _run([*map(str, arguments)], True, cwd, timeout)


def _run(
    command: list[str], torch: bool, cwd: Path, timeout: float, site: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = (given, out, err)
        with Forked(command, torch=torch, cwd=cwd, env=environment(site), streams=streams) as process:
            try:
                code = process.wait(timeout)
            except TimeoutError:
                process.kill()
                raise
        said = [_read(stream) for stream in (out, err)]
    return subprocess.CompletedProcess(command, code, *said)


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "backslashreplace").replace("\r\n", "\n")


@cache
def _server(imported: tuple[str, ...]) -> socket.socket:
    """Where processes are asked for that have imported these modules; what answers there ends with this process."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, str(_SERVER), str(theirs.fileno()), *imported]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
