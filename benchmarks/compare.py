"""Measure amplint against TorchFix, flake8 and ruff on folders of real code, in one run on one machine.

    python benchmarks/compare.py FOLDER... [--runs N] [--only TOOL ...] [--skip TOOL ...] [--python EXE] [--markdown]

`--python` names an interpreter that has amplint installed. The other tools are installed, at the versions pinned
below, into virtual environments of their own under `--work-dir`: TorchFix wants an old LibCST, and flake8 must not
load amplint's plugin. Runs are interleaved, so that a drift of the machine hits every tool alike; medians are shown.
amplint's modules are compiled first, as `pip install` does. Configuration files are ignored. CPU is user + system time of
the process and the children it waited for; peak memory is the resident size of the largest process, not the sum over a
pool, and at least this script's. POSIX only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

PINS = {"torchfix": ["TorchFix==0.7.0"], "linters": ["flake8==7.3.0", "ruff==0.17.5"]}
TOOLS = ["amplint-cold", "amplint-warm", "torchfix", "flake8-F", "ruff-F", "ruff-ALL", "one-file"]
# name: numerator, denominator, what is compared, the bound we hold it to
RATIOS = {
    "amplint cold CPU / ruff ALL CPU": ("amplint-cold", "ruff-ALL", "cpu_s", "at most 1"),
    "TorchFix CPU / amplint cold CPU": ("torchfix", "amplint-cold", "cpu_s", "at least 40"),
    "amplint warm wall / ruff F wall": ("amplint-warm", "ruff-F", "wall_s", "at most 2"),
    "one clean file CPU / import click CPU": ("one-file", "import-click", "cpu_s", "at most 1.5"),
}
CLEAN_FILE = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer: torch.optim.Optimizer) -> None:
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
"""


class BenchmarkError(Exception):
    """Something that prevents a measurement; the text is one line."""


@dataclass(frozen=True)
class Sample:
    """What one run of one command took."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    exit_code: int


@dataclass(frozen=True)
class Report:
    """All that was measured, and on what."""

    machine: str
    files: int
    megabytes: float
    versions: dict[str, str]
    samples: dict[str, list[Sample]]
    ratios: dict[str, float]
    unwanted_imports: list[str] | None


def run(command: list[str], cwd: Path) -> Sample:
    """Run a command to its end and say what it took."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
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


def _ask(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise BenchmarkError(f"{' '.join(command)}: {reason}")
    return done.stdout.partition("\n")[0].strip()


def prepare(folder: Path, python: str, pins: list[str]) -> None:
    """Make `folder` a virtual environment that holds the pinned packages, unless it is one."""
    receipt = folder / "installed.txt"
    if not receipt.is_file() or receipt.read_text(encoding="utf-8") != " ".join(pins):
        print(f"installing {' '.join(pins)} into {folder}", file=sys.stderr)
        _ask([python, "-m", "venv", "--clear", str(folder)], folder.parent)
        _ask([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *pins], folder.parent)
        receipt.write_text(" ".join(pins), encoding="utf-8")


def compile_modules(python: str, work_dir: Path) -> None:
    """Compile amplint and its rules, as on installing them; else every run of a checkout might compile them anew."""
    paths = "(*amplint.__path__, *amplint_rules.__path__)"
    script = f"import amplint, amplint_rules, compileall\nfor path in {paths}: compileall.compile_dir(path, quiet=1)"
    _ask([python, "-c", script], work_dir)


def commands(tools: list[str], folders: list[str], python: str, work_dir: Path, scratch: Path) -> dict[str, list[str]]:
    """The command line of each tool that lints the folders; what it needs is installed."""
    version = _ask([python, "-c", "import platform; print(platform.python_version())"], work_dir)
    torchfix, linters = homes = [work_dir / f"{name}-{version}" for name in PINS]
    amplint = [python, "-m", "amplint", "check", "--isolated"]
    ruff = [str(linters / "bin" / "ruff"), "check", "--isolated", "--no-cache", "--select"]
    lines = {
        "amplint-cold": [*amplint, "--no-cache"],
        "amplint-warm": [*amplint, "--cache-dir", str(scratch / "cache")],
        "torchfix": [str(torchfix / "bin" / "torchfix")],
        "flake8-F": [str(linters / "bin" / "flake8"), "--isolated", "--select", "F"],
        "ruff-F": [*ruff, "F"],
        "ruff-ALL": [*ruff, "ALL"],
    }
    lines = {tool: [*line, *folders] for tool, line in lines.items() if tool in tools}
    for home, pins in zip(homes, PINS.values(), strict=True):
        if any(line[0].startswith(str(home)) for line in lines.values()):
            prepare(home, python, pins)
    return lines


def measure_tools(lines: dict[str, list[str]], scratch: Path, runs: int, slow_runs: int) -> dict[str, list[Sample]]:
    """Samples of every tool, one round after another."""
    samples: dict[str, list[Sample]] = {tool: [] for tool in lines}
    if "amplint-warm" in lines:
        run(lines["amplint-warm"], scratch)
    for index in range(runs):
        for tool in (tool for tool in lines if tool != "torchfix" or index < slow_runs):
            samples[tool].append(run(lines[tool], scratch))
    return samples


def measure_one_file(python: str, scratch: Path, runs: int, samples: dict[str, list[Sample]]) -> list[str]:
    """Add amplint on a clean file and `import click` to the samples; what of libcst and torch the former imports."""
    (scratch / "one_clean_file.py").write_text(CLEAN_FILE, encoding="utf-8")
    lint = ["-m", "amplint", "one_clean_file.py"]
    trace = subprocess.run([python, "-X", "importtime", *lint], cwd=scratch, capture_output=True, text=True)
    if trace.returncode:
        raise BenchmarkError(f"amplint on a clean file: {(trace.stdout or trace.stderr).splitlines()[-1]}")
    for _ in range(runs):
        samples.setdefault("one-file", []).append(run([python, *lint], scratch))
        samples.setdefault("import-click", []).append(run([python, "-c", "import click"], scratch))
    return sorted(set(re.findall(r"^import time:.*\| +(libcst|torch)\b", trace.stderr, re.MULTILINE)))


def _middle(samples: list[Sample], field: str) -> float:
    return float(median(getattr(sample, field) for sample in samples))


def compare(samples: dict[str, list[Sample]]) -> dict[str, float]:
    """The ratios that can be formed from what was measured."""
    return {
        name: _middle(samples[over], field) / _middle(samples[under], field)
        for name, (over, under, field, _) in RATIOS.items()
        if samples.get(over) and samples.get(under)
    }


def table(rows: list[list[str]], markdown: bool) -> str:
    """Rows, the first of them the head, as aligned columns; as a Markdown table where asked."""
    first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [[row[0].ljust(first), *map(str.rjust, row[1:], others)] for row in rows]
    if not markdown:
        return "\n".join("  ".join(line) for line in lines)
    lines.insert(1, ["-" * first, *("-" * (width - 1) + ":" for width in others)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure amplint against TorchFix, flake8 and ruff.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=3, help="rounds over all tools (default: 3)")
    parser.add_argument("--torchfix-runs", type=int, default=1, help="rounds that include TorchFix (default: 1)")
    parser.add_argument("--one-file-runs", type=int, default=15, help="alternating runs on one file (default: 15)")
    parser.add_argument("--only", action="extend", nargs="+", choices=TOOLS, metavar="TOOL", help=", ".join(TOOLS))
    parser.add_argument("--skip", action="extend", nargs="+", choices=TOOLS, default=[], metavar="TOOL")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has amplint installed")
    parser.add_argument("--work-dir", type=Path, default=Path(tempfile.gettempdir()) / "amplint-compare")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    arguments = parser.parse_args()
    if min(arguments.runs, arguments.torchfix_runs, arguments.one_file_runs) < 1:
        parser.error("at least one run is needed")
    return arguments


def measure(arguments: argparse.Namespace, scratch: Path) -> Report:
    """Measure what was asked for."""
    # Not resolved: the python of a virtual environment is a link that works only under its own name.
    python, work_dir = os.path.abspath(arguments.python), arguments.work_dir.resolve()
    work_dir.mkdir(parents=True, exist_ok=True)
    compile_modules(python, work_dir)
    folders = [str(folder.resolve(strict=True)) for folder in arguments.folders]
    tools = [tool for tool in TOOLS if tool in (arguments.only or TOOLS) and tool not in arguments.skip]
    lines = commands(tools, folders, python, work_dir, scratch)
    versions = {tool: _ask([*line[: 1 + 2 * (line[1] == "-m")], "--version"], scratch) for tool, line in lines.items()}
    files = {path for folder in folders for path in Path(folder).rglob("*.py") if path.is_file()}
    # Reading every file also fills the page cache, which would otherwise fall to the first tool.
    megabytes = sum(len(path.read_bytes()) for path in files) / 1e6
    one_file: dict[str, list[Sample]] = {}
    unwanted = measure_one_file(python, scratch, arguments.one_file_runs, one_file) if "one-file" in tools else None
    taken = measure_tools(lines, scratch, arguments.runs, arguments.torchfix_runs) | one_file
    # Ended by a signal, a run is no measurement: it is unfinished, and the workers it did not wait for are not counted.
    samples = {tool: [sample for sample in some if sample.exit_code >= 0] for tool, some in taken.items()}
    machine = f"{platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    return Report(machine, len(files), megabytes, versions, samples, compare(samples), unwanted)


def show(report: Report, markdown: bool) -> None:
    """Print the tables."""
    print(f"{report.files} files, {report.megabytes:.1f} MB; {report.machine}\n")
    rows = [["tool", "runs", "CPU s", "wall s", "peak MB"]]
    for tool, taken in report.samples.items():
        figures = [f"{_middle(taken, field):.2f}" if taken else "-" for field in ("cpu_s", "wall_s", "peak_mb")]
        rows.append([tool, str(len(taken)), *figures])
    print(table(rows, markdown))
    if report.ratios:
        rows = [["ratio", "value", "aim"]]
        rows += [[name, f"{value:.2f}", RATIOS[name][3]] for name, value in report.ratios.items()]
        print("\n" + table(rows, markdown))
    if report.unwanted_imports is not None:
        print(f"\nof libcst and torch, one clean file imports: {', '.join(report.unwanted_imports) or 'nothing'}")


def main() -> int:
    arguments = _arguments()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            report = measure(arguments, Path(scratch).resolve())
        if arguments.json:
            arguments.json.write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    except (BenchmarkError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    show(report, arguments.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
