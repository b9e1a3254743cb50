"""What a command takes: processor time, time by the clock, peak memory; and the tools that amplint is held against.

CPU is user + system time of the process and the children it waited for; peak memory is the resident size of the largest
process, not the sum over a pool, and at least this script's. POSIX only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

PINS = {"torchfix": ["TorchFix==0.7.0"], "linters": ["flake8==7.3.0", "ruff==0.17.5"]}


class BenchmarkError(Exception):
    """Something that prevents a measurement; the text is one line."""


@dataclass(frozen=True)
class Sample:
    """What one run of one command took."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    exit_code: int


def run(command: list[str], cwd: Path, text: bytes = b"") -> Sample:
    """Run a command to its end, with a text on its standard input, and say what it took."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
        given.write(text)
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, stdin=given, stdout=subprocess.DEVNULL, stderr=errors)
        # wait4 and not RUSAGE_CHILDREN: the peak of the latter is that of the largest child so far.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
    if process.returncode not in (0, 1):
        print(f"warning: exit code {process.returncode} from {' '.join(command)}: {last}", file=sys.stderr)
    unit = 1 if sys.platform == "darwin" else 1024
    return Sample(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit / 1e6, process.returncode)


def ask(command: list[str], cwd: Path) -> str:
    """The first line that a command prints.

    Raises:
        BenchmarkError: it fails.
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise BenchmarkError(f"{' '.join(command)}: {reason}")
    return done.stdout.partition("\n")[0].strip()


def middle(samples: list[Sample], field: str) -> float:
    """The median of a field of samples."""
    return float(median(getattr(sample, field) for sample in samples))


def prepare(folder: Path, python: str, pins: list[str], called: str = "") -> None:
    """Make `folder` a virtual environment that holds the pinned packages, or what goes by a name, unless it is one."""
    receipt = folder / "installed.txt"
    called = called or " ".join(pins)
    if not receipt.is_file() or receipt.read_text(encoding="utf-8") != called:
        print(f"installing {called} into {folder}", file=sys.stderr)
        ask([python, "-m", "venv", "--clear", str(folder)], folder.parent)
        ask([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *pins], folder.parent)
        receipt.write_text(called, encoding="utf-8")


def compile_modules(python: str, work_dir: Path) -> None:
    """Compile amplint and its rules, as on installing them; else every run of a checkout might compile them anew."""
    paths = "(*amplint.__path__, *amplint_rules.__path__)"
    script = f"import amplint, amplint_rules, compileall\nfor path in {paths}: compileall.compile_dir(path, quiet=1)"
    ask([python, "-c", script], work_dir)


def commands(tools: list[str], python: str, work_dir: Path, cache: Path) -> dict[str, list[str]]:
    """The command line of each tool, without what it shall lint; what it needs is installed. `cache` is that of warm runs."""
    version = ask([python, "-c", "import platform; print(platform.python_version())"], work_dir)
    torchfix, linters = homes = [work_dir / f"{name}-{version}" for name in PINS]
    amplint = [python, "-m", "amplint", "check", "--isolated"]
    ruff = [str(linters / "bin" / "ruff"), "check", "--isolated", "--no-cache", "--select"]
    lines = {
        "amplint-cold": [*amplint, "--no-cache"],
        "amplint-warm": [*amplint, "--cache-dir", str(cache)],
        "torchfix": [str(torchfix / "bin" / "torchfix")],
        "flake8-F": [str(linters / "bin" / "flake8"), "--isolated", "--select", "F"],
        "ruff-F": [*ruff, "F"],
        "ruff-ALL": [*ruff, "ALL"],
    }
    lines = {tool: line for tool, line in lines.items() if tool in tools}
    for home, pins in zip(homes, PINS.values(), strict=True):
        if any(line[0].startswith(str(home)) for line in lines.values()):
            prepare(home, python, pins)
    return lines
