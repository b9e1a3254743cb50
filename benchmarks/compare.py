"""Measure amplint against TorchFix, flake8 and ruff on folders of real code, in one run on one machine.

    python benchmarks/compare.py FOLDER... [--repositories CACHE [--mirrors FOLDER]] [--runs N] [--only TOOL ...]
                                 [--skip TOOL ...] [--before REVISION] [--python EXE] [--markdown]

The folders are one tree (packages, as `real_code/fetch.py` unpacks them); with `--repositories` real training repositories,
pinned in `repositories.py`, are a second one. CACHE is where they are laid out: fetched by git, or taken from the bare
repositories in the folder that `--mirrors` names. With `--before` an earlier revision of amplint runs in turn with today's:
what one change costs is too little to be seen, and what many of them cost together is not.

`--python` names an interpreter that has amplint installed. The other tools are installed, at pinned versions, into virtual
environments of their own under `--work-dir`: TorchFix wants an old LibCST, and flake8 must not load amplint's plugin. Runs
are interleaved, so that a drift of the machine hits every tool alike; medians are shown. amplint's modules are compiled
first, as `pip install` does. Configuration files are ignored.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from earlier import install
from measuring import BenchmarkError, Sample, ask, commands, compile_modules, middle, run
from repositories import REPOSITORIES, RepositoryError, lay_out

TOOLS = ["amplint-cold", "amplint-warm", "torchfix", "flake8-F", "ruff-F", "ruff-ALL", "one-file", "editor", "growth"]
TIMES = 10
"""Copies of the repositories that are linted to see how cost grows."""
# tree, name: numerator, denominator, what is compared, how many of the latter, the bound that we hold it to
RATIOS = {
    "packages: amplint cold CPU / ruff ALL CPU": ("amplint-cold", "ruff-ALL", "cpu_s", 1, "at most 0.4"),
    "packages: amplint warm wall / ruff F wall": ("amplint-warm", "ruff-F", "wall_s", 1, "at most 0.7"),
    "packages: TorchFix CPU / amplint cold CPU": ("torchfix", "amplint-cold", "cpu_s", 1, "at least 40"),
    "repositories: amplint cold CPU / ruff ALL CPU": ("amplint-cold", "ruff-ALL", "cpu_s", 1, "at most 0.6"),
    "repositories: amplint warm wall / ruff F wall": ("amplint-warm", "ruff-F", "wall_s", 1, "at most 0.7"),
    "repositories: TorchFix CPU / amplint cold CPU": ("torchfix", "amplint-cold", "cpu_s", 1, "at least 80"),
    **{
        f"{tree}: amplint cold CPU / that of the earlier revision": (
            "amplint-cold",
            "amplint-before",
            "cpu_s",
            1,
            "at most 1.05",
        )
        for tree in ("packages", "repositories")
    },
    f"growth: CPU of {TIMES} copies / {TIMES} times that of one": ("copies", "one", "cpu_s", TIMES, "at most 1.05"),
    "growth: peak memory of the copies / that of one": ("copies", "one", "peak_mb", 1, "under 300 MB"),
    "one file: amplint on a clean one, CPU / import click CPU": ("one-file", "import-click", "cpu_s", 1, "at most 1.5"),
    "one file: in an editor, as it was linted, CPU / import click CPU": (
        "known",
        "import-click",
        "cpu_s",
        1,
        "under 8",
    ),
    "one file: in an editor, just edited, CPU / import click CPU": ("edited", "import-click", "cpu_s", 1, "under 8"),
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

Samples = dict[str, list[Sample]]


@dataclass
class Tree:
    """What is linted as one, and what the tools took for it."""

    name: str
    folders: list[str]
    files: int = 0
    megabytes: float = 0.0
    samples: Samples = field(default_factory=dict)

    def __post_init__(self) -> None:
        files = {path for folder in self.folders for path in Path(folder).rglob("*.py") if path.is_file()}
        # Reading every file also fills the page cache, which would otherwise fall to the first tool.
        self.files, self.megabytes = len(files), sum(len(path.read_bytes()) for path in files) / 1e6


@dataclass(frozen=True)
class Report:
    """All that was measured, and on what."""

    machine: str
    versions: dict[str, str]
    trees: list[Tree]
    ratios: dict[str, float]
    unwanted_imports: list[str] | None


def measure_tools(tree: Tree, lines: dict[str, list[str]], scratch: Path, runs: int, slow_runs: int) -> None:
    """Add samples of every tool on a tree, one round after another."""
    tree.samples.update({tool: [] for tool in lines})
    if "amplint-warm" in lines:
        run([*lines["amplint-warm"], *tree.folders], scratch)
    for index in range(runs):
        for tool in (tool for tool in lines if tool != "torchfix" or index < slow_runs):
            tree.samples[tool].append(run([*lines[tool], *tree.folders], scratch))


def measure_growth(python: str, tree: Tree, scratch: Path, runs: int) -> Tree:
    """One copy of a tree and several of them, linted cold in turn."""
    copies = [scratch / "copies" / str(number) for number in range(TIMES)]
    for copy in copies:
        for folder in tree.folders:
            shutil.copytree(folder, copy / Path(folder).name)
    cold = [python, "-m", "amplint", "check", "--isolated", "--no-cache"]
    grown = Tree("growth", [str(copies[0])], samples={"one": [], "copies": []})
    # Each from its own folder, below which callers are looked for: one copy is not to know of the others.
    for _ in range(runs):
        grown.samples["one"].append(run([*cold, "."], copies[0]))
        grown.samples["copies"].append(run([*cold, "."], copies[0].parent))
    shutil.rmtree(copies[0].parent)
    return grown


def measure_one_file(python: str, scratch: Path, runs: int, samples: Samples) -> list[str]:
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


def measure_editor(python: str, project: Path, file: str, scratch: Path, runs: int, samples: Samples) -> None:
    """Add runs on the text of one file, given as an editor gives it, in a project that was linted before: the text as it
    was then, and the text with one more comment each time."""
    amplint = [python, "-m", "amplint", "check", "--isolated", "--cache-dir", str(scratch / "editor")]
    run([*amplint, "."], project)
    text = (project / file).read_bytes()
    for number in range(runs):
        for name, given in (("known", text), ("edited", text + b"\n# edit %d\n" % number)):
            samples.setdefault(name, []).append(run([*amplint, "--stdin-filename", file, "-"], project, given))
        samples.setdefault("import-click", []).append(run([python, "-c", "import click"], scratch))


def compare(trees: list[Tree]) -> dict[str, float]:
    """The ratios that can be formed from what was measured."""
    taken = {tree.name: tree.samples for tree in trees}
    found = {}
    for name, (over, under, measured, times, _) in RATIOS.items():
        samples = taken.get(name.partition(": ")[0], {})
        if samples.get(over) and samples.get(under):
            found[name] = middle(samples[over], measured) / (times * middle(samples[under], measured))
    return found


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
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--repositories", type=Path, metavar="CACHE", help="also measure real training repositories")
    parser.add_argument("--mirrors", type=Path, metavar="FOLDER", help="bare repositories to take them from")
    parser.add_argument("--runs", type=int, default=3, help="rounds over all tools (default: 3)")
    parser.add_argument("--torchfix-runs", type=int, default=1, help="rounds that include TorchFix (default: 1)")
    parser.add_argument("--one-file-runs", type=int, default=15, help="alternating runs on one file (default: 15)")
    parser.add_argument("--only", action="extend", nargs="+", choices=TOOLS, metavar="TOOL", help=", ".join(TOOLS))
    parser.add_argument("--skip", action="extend", nargs="+", choices=TOOLS, default=[], metavar="TOOL")
    parser.add_argument("--before", metavar="REVISION", help="an earlier revision of amplint, to be timed in turn")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has amplint installed")
    parser.add_argument("--work-dir", type=Path, default=Path(tempfile.gettempdir()) / "amplint-compare")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    arguments = parser.parse_args()
    if min(arguments.runs, arguments.torchfix_runs, arguments.one_file_runs) < 1:
        parser.error("at least one run is needed")
    if not (arguments.folders or arguments.repositories):
        parser.error("name folders, or a folder for --repositories")
    return arguments


def measure(arguments: argparse.Namespace, scratch: Path) -> Report:
    """Measure what was asked for."""
    # Not resolved: the python of a virtual environment is a link that works only under its own name.
    python, work_dir = os.path.abspath(arguments.python), arguments.work_dir.resolve()
    work_dir.mkdir(parents=True, exist_ok=True)
    compile_modules(python, work_dir)
    tools = [tool for tool in TOOLS if tool in (arguments.only or TOOLS) and tool not in arguments.skip]
    lines = commands(tools, python, work_dir, scratch / "cache")
    if arguments.before:
        earlier = install(arguments.before, python, work_dir)
        lines["amplint-before"] = [str(earlier), "-m", "amplint", "check", "--isolated", "--no-cache"]
    versions = {
        tool: ask([*line[: 1 + 2 * (line[1:2] == ["-m"])], "--version"], scratch) for tool, line in lines.items()
    }
    trees: list[Tree] = []
    one_file = Tree("one file", [])
    unwanted = None
    if "one-file" in tools:
        unwanted = measure_one_file(python, scratch, arguments.one_file_runs, one_file.samples)
    if arguments.folders:
        trees.append(Tree("packages", [str(folder.resolve(strict=True)) for folder in arguments.folders]))
    if arguments.repositories:
        laid_out = [lay_out(each, arguments.repositories.resolve(), arguments.mirrors) for each in REPOSITORIES]
        trees.append(Tree("repositories", [*map(str, laid_out)]))
    for tree in trees:
        measure_tools(tree, lines, scratch, arguments.runs, arguments.torchfix_runs)
    if arguments.repositories and "editor" in tools:
        edited = REPOSITORIES[0].edited
        measure_editor(python, laid_out[0], edited, scratch, arguments.one_file_runs, one_file.samples)
    if arguments.repositories and "growth" in tools:
        trees.append(measure_growth(python, trees[-1], scratch, min(arguments.runs, 2)))
    trees.append(one_file)
    # Ended by a signal, a run is no measurement: it is unfinished, and the workers it did not wait for are not counted.
    for tree in trees:
        tree.samples = {
            tool: [sample for sample in some if sample.exit_code >= 0] for tool, some in tree.samples.items()
        }
    machine = f"{platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    return Report(machine, versions, trees, compare(trees), unwanted)


def show(report: Report, markdown: bool) -> None:
    """Print the tables."""
    print(report.machine)
    for tree in (tree for tree in report.trees if tree.samples):
        print(f"\n{tree.name}" + (f": {tree.files} files, {tree.megabytes:.1f} MB\n" if tree.files else "\n"))
        rows = [["tool", "runs", "CPU s", "wall s", "peak MB"]]
        for tool, taken in tree.samples.items():
            figures = [f"{middle(taken, one):.2f}" if taken else "-" for one in ("cpu_s", "wall_s", "peak_mb")]
            rows.append([tool, str(len(taken)), *figures])
        print(table(rows, markdown))
    if report.ratios:
        rows = [["ratio", "value", "aim"]]
        rows += [[name, f"{value:.2f}", RATIOS[name][4]] for name, value in report.ratios.items()]
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
    except (BenchmarkError, RepositoryError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    show(report, arguments.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
