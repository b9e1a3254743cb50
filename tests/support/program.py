"""Runs the program as users do: in a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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


def problems(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What a run said was wrong, without the summary; no run may ever show a traceback."""
    assert "Traceback" not in done.stderr, done.stderr
    return [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")]


def hear_interrupts() -> None:
    """Let a child process hear SIGINT, which what a shell runs in the background would ignore, and its children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
