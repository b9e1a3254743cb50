"""Runs the program as users do: in a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

AMPLINT = (sys.executable, "-m", "amplint")


def environment(site: Path | None = None) -> dict[str, str]:
    """The environment of a run; the rule packs in the folder `site` are installed in it."""
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    if site is not None:
        settings["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), settings.get("PYTHONPATH"))))
    return settings


def amplint(
    *arguments: str | Path, cwd: Path, site: Path | None = None, stdin: bytes = b"", timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `amplint` with these arguments; output is decoded as UTF-8."""
    done = subprocess.run(
        [*AMPLINT, *map(str, arguments)],
        cwd=cwd,
        env=environment(site),
        input=stdin,
        capture_output=True,
        timeout=timeout,
    )
    out, err = (
        stream.decode("utf-8", "backslashreplace").replace("\r\n", "\n") for stream in (done.stdout, done.stderr)
    )
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def on_a_terminal(*arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """What a run says on a terminal, with these variables in its environment."""
    pty = pytest.importorskip("pty", reason="there are no terminals on this system")
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [*AMPLINT, *arguments],
        cwd=cwd,
        env={**environment(), "TERM": "xterm", **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    data = b""
    try:
        while piece := os.read(ours, 65536):
            data += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    run.wait()
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def problems(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What a run said was wrong, without the summary; no run may ever show a traceback."""
    assert "Traceback" not in done.stderr, done.stderr
    return [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")]


def hear_interrupts() -> None:
    """Let a child process hear SIGINT, which what a shell runs in the background would ignore, and its children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
