"""What must hold for the program as a whole: many inputs in one folder, checked by processes of its own.

Whatever the hash seed, the number of processes, the order of the files and the state of the cache, the output is the same to
the byte; what is found in a file is found when it is the only one, or comes from standard input; and `--diff` and `--fix` do
the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from amplint.report import diff

from .cases import Case
from .fix_oracles import patched
from .oracles import Failure

BATCH_ORACLES = ("process", "same-output", "alone", "stdin", "diff-and-fix")
_FILLER = "from torch.amp import autocast\n" + "# nothing to see\n" * 13_000
"""Enough source that several processes are started."""
_BASE = ("check", "--isolated", "--select", "ALL")

Found = tuple[Case, Failure]


class Batch:
    """A folder with the files of some cases, and two large ones."""

    def __init__(self, folder: Path, cases: Sequence[Case]) -> None:
        self.folder = folder / "tree"
        self.folder.mkdir()
        self.cases = {case.name: case for case in cases}
        self.write()
        self.failures: list[Found] = []

    def write(self) -> None:
        """Put all files back as they were."""
        for name, case in self.cases.items():
            (self.folder / name).write_bytes(case.data)
        for name in ("filler_a.py", "filler_b.py"):
            (self.folder / name).write_text(_FILLER, encoding="utf-8")

    def run(self, *arguments: str, seed: int = 0, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """A run of the program; that it ends badly is a failure."""
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(Path(__file__).resolve().parents[2]), environment.get("PYTHONPATH")))
        )
        command = [sys.executable, "-m", "amplint", *_BASE, *arguments]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, input=stdin, capture_output=True, timeout=600
            )
        except subprocess.TimeoutExpired:
            self.fail("process", "timeout", f"{arguments}")
            return subprocess.CompletedProcess(command, 2, b"", b"")
        errors = done.stderr.decode("utf-8", "replace")
        if done.returncode not in (0, 1, 2):
            self.fail("process", "exit code", f"{done.returncode} after {arguments}: {errors[-300:]}")
        for bad in ("Traceback", "internal error", "crashed", "died"):
            if bad in errors:
                line = next(line for line in errors.splitlines() if bad in line)
                self.fail("process", bad, line[:300], _named(line, self.cases))
        return done

    def fail(self, oracle: str, key: str, detail: str, name: str = "") -> None:
        """Note a failure, of one file or of the whole batch."""
        case = self.cases.get(name) or next(iter(self.cases.values()))
        self.failures.append((case, Failure(oracle, key, detail)))


def examine_batch(cases: Sequence[Case]) -> list[Found]:
    """All that is wrong with some inputs in one folder, each failure with the input that shows it."""
    with tempfile.TemporaryDirectory() as folder:
        batch = Batch(Path(folder), cases)
        first = batch.run("--no-cache", "--jobs", "1", "--output-format", "json", ".")
        _same_output(batch, first, str(Path(folder) / "cache"))
        records = _by_file(first.stdout)
        _alone(batch, records)
        _diff_and_fix(batch)
        return batch.failures


def _same_output(batch: Batch, first: subprocess.CompletedProcess[bytes], cache: str) -> None:
    form = ("--output-format", "json")
    cached = ("--cache-dir", cache, "--jobs", "1", *form, ".")
    others = {
        "hash seed, jobs": batch.run("--no-cache", "--jobs", "2", *form, ".", seed=1),
        "cold cache": batch.run(*cached, seed=2),
        "warm cache": batch.run(*cached, seed=1),
    }
    for way, done in others.items():
        _compare(batch, "same-output", way, first, done)
    names = sorted(path.name for path in batch.folder.iterdir())
    forwards, backwards = (batch.run("--no-cache", *form, *order) for order in (names, names[::-1]))
    wanted, got = _by_file(forwards.stdout), _by_file(backwards.stdout)
    for name in {*wanted, *got}:
        if wanted.get(name) != got.get(name):
            batch.fail("same-output", "file order", name, name)


def _compare(
    batch: Batch,
    oracle: str,
    way: str,
    one: subprocess.CompletedProcess[bytes],
    other: subprocess.CompletedProcess[bytes],
) -> None:
    if one.returncode != other.returncode:
        batch.fail(oracle, f"{way}, exit code", f"{one.returncode} and {other.returncode}")
    if one.stdout == other.stdout:
        return
    wanted, got = _by_file(one.stdout), _by_file(other.stdout)
    differing = [name for name in {*wanted, *got} if wanted.get(name) != got.get(name)]
    for name in differing or [""]:
        batch.fail(oracle, way, name or "other bytes", name)


def _alone(batch: Batch, records: dict[str, list[Any]]) -> None:
    """Some files on their own, from disk and from standard input; findings that rest on facts of the run are set aside."""
    chosen = sorted(batch.cases, key=lambda name: (-len(records.get(name, ())), name))[:2]
    for name in chosen:
        form = ("--no-cache", "--output-format", "json")
        alone = batch.run(*form, name)
        piped = batch.run(*form, "--stdin-filename", name, "-", stdin=batch.cases[name].data)
        on_disk, from_stdin = _by_file(alone.stdout).get(name, []), _by_file(piped.stdout).get(name, [])
        if (on_disk, alone.returncode) != (from_stdin, piped.returncode):
            batch.fail(
                "stdin",
                "differs",
                f"{len(on_disk)} and {len(from_stdin)} findings, {alone.returncode} and {piped.returncode}",
                name,
            )
        more = [each["code"] for each in on_disk if each not in records.get(name, [])]
        less = [each["code"] for each in records.get(name, []) if each not in on_disk and each["code"] not in ON_FACTS]
        if more or less:
            batch.fail("alone", ", ".join(sorted({*more, *less})), f"only alone {more}, only among others {less}", name)


ON_FACTS = frozenset({"AMP202", "AMP208", "AMP401", "AMP402"})
"""Rules that speak only where another file of the run trains in mixed precision."""


def _diff_and_fix(batch: Batch) -> None:
    """What `--diff` shows is what `--fix` writes, and another `--fix` writes nothing."""
    shown = {name: batch.run("--no-cache", "--unsafe-fixes", "--diff", name) for name in sorted(batch.cases)[:2]}
    batch.run("--no-cache", "--unsafe-fixes", "--fix", ".")
    written = {name: (batch.folder / name).read_bytes() for name in batch.cases}
    left = {path.name for path in batch.folder.iterdir()} - {*batch.cases, "filler_a.py", "filler_b.py"}
    if left:
        batch.fail("diff-and-fix", "files left behind", ", ".join(sorted(left)))
    for name, done in shown.items():
        case = batch.cases[name]
        try:
            text, changes = case.data.decode().removeprefix("\ufeff"), done.stdout.decode()
        except UnicodeDecodeError:
            continue  # the diff is in UTF-8, the file is not
        if case.is_notebook or not all(character.isprintable() or character in "\n\t" for character in text):
            continue  # what a terminal would obey is shown escaped
        if patched(text, diff.lines(changes)) != written[name].decode().removeprefix("\ufeff"):
            batch.fail("diff-and-fix", "differ", name, name)
    batch.run("--no-cache", "--unsafe-fixes", "--fix", ".", seed=1)
    for name, data in written.items():
        if (batch.folder / name).read_bytes() != data:
            batch.fail("diff-and-fix", "a second run changes the file", name, name)


def _by_file(output: bytes) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for record in _records(output):
        found.setdefault(os.path.basename(record.pop("filename")), []).append(record)
    return found


def _records(output: bytes) -> Iterator[dict[str, Any]]:
    try:
        yield from json.loads(output or b"[]")
    except json.JSONDecodeError:
        return


def _named(line: str, cases: dict[str, Case]) -> str:
    return next((name for name in cases if name in line), "")
