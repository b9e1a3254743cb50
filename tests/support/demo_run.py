"""The program with the demo rules, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

from click.testing import CliRunner, Result

from amplint.cli.main import main

SAFE, UNSAFE, DISPLAY = "demo_safe()\n", "demo_unsafe()\n", "demo_display()\n"

CLEAN = "x = 1\n"


def write(**files: str) -> None:
    """Write files; `a__b` stands for `a/b.py`."""
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def amplint(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the program in this process."""
    result = CliRunner().invoke(main, [*arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def process(pack: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "amplint", *arguments],
        env={**os.environ, "PYTHONPATH": str(pack)},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    )


def codes(result: Result) -> list[str]:
    return [line.split()[1] for line in result.stdout.splitlines()]
