"""A folder of training files that can be fixed, and what must be in it whatever happens."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SAFE = re.compile(r"# expect: AMP\d{3} safe")
_MODES = (0o644, 0o600, 0o755, 0o640)
_IN_A_FOLDER = 25


class Broken(AssertionError):
    """A promise was not kept."""


class Run:
    """A run of the program that has ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        if "Traceback" in err:
            raise Broken(f"a traceback: {err}")

    @property
    def errors(self) -> list[str]:
        """What it said was wrong."""
        return [line.removeprefix("error: ") for line in self.err.splitlines() if line.startswith("error: ")]


class Tree:
    """Files made from the fixtures, below `home/tree`; the cache lies in `home/cache`.

    The first thing done with it is one undisturbed `--fix`: what that makes of the files, and says, is what every other
    run must come to.
    """

    def __init__(self, home: Path, count: int, rng: random.Random) -> None:
        self.home, self.folder, self.cache = home, home / "tree", home / "cache"
        self.rng = rng
        self._originals = dict(zip(map(_name, range(count)), _texts(count, rng)))
        self._modes = {name: rng.choice(_MODES) for name in self._originals}
        self.restore()
        self.undisturbed = self.fix()
        if self.undisturbed.code not in (0, 1) or self.undisturbed.errors:
            raise Broken(f"the fixtures cannot be fixed: {self.undisturbed.err}")
        self._fixed = {name: (self.folder / name).read_bytes() for name in self._originals}
        self.fixable = [name for name in sorted(self._originals) if self._fixed[name] != self._originals[name]]
        self.restore()

    def restore(self) -> None:
        """Begin anew: all files as they were made, nothing else, no cache."""
        for folder in (self.folder, self.cache):
            shutil.rmtree(folder, ignore_errors=True)
        for name, data in self._originals.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(self._modes[name])

    def original(self, name: str) -> bytes:
        """What a file was made with."""
        return self._originals[name]

    def fixed(self, name: str) -> bytes:
        """What an undisturbed run makes of a file."""
        return self._fixed[name]

    def command(self, *arguments: str) -> list[str]:
        """The command that fixes the folder, to be run in it."""
        return [sys.executable, "-m", "amplint", "check", "--cache-dir", str(self.cache), *arguments, "."]

    def start(self, *arguments: str, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        """Start a run in a process of its own; `before` is called in it first."""
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
        return subprocess.Popen(
            self.command(*arguments), cwd=self.folder, env=environment, text=True, encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before,
        )  # fmt: skip

    def fix(self, *arguments: str, before: Callable[[], None] | None = None) -> Run:
        """Fix the folder, and wait for it."""
        return ended(self.start("--fix", *arguments, before=before))

    def check_whole(self, but: Sequence[str] = ()) -> int:
        """Every file must hold its old content or the fixed one, and have its permissions; returns how many are fixed."""
        done = 0
        for name in self._originals:
            path = self.folder / name
            if name in but:
                continue
            data = path.read_bytes()
            if data not in (self._originals[name], self._fixed[name]):
                raise Broken(f"{name} is neither old nor fixed: {data!r}")
            if stat.S_IMODE(path.stat().st_mode) != self._modes[name]:
                raise Broken(f"{name} has other permissions: {path.stat().st_mode:o}")
            done += data == self._fixed[name] != self._originals[name]
        return done

    def strangers(self) -> list[str]:
        """What lies in the folder besides the files."""
        names = (path.relative_to(self.folder) for path in self.folder.rglob("*") if not path.is_dir())
        return sorted(name.as_posix() for name in names if name.as_posix() not in self._originals)

    def check_done(self, run: Run) -> None:
        """A run must have left everything as an undisturbed one does, and must have said so."""
        if self.check_whole() != len(self.fixable):
            raise Broken(f"not all is fixed: {run.err}")
        if self.strangers():
            raise Broken(f"something is left: {self.strangers()}")
        if (run.code, run.out, run.errors) != (self.undisturbed.code, self.undisturbed.out, []):
            raise Broken(f"the run did not end as usual: {run.code} {run.out} {run.err}")


def ended(process: subprocess.Popen[str]) -> Run:
    """Wait for a run."""
    out, err = process.communicate(timeout=1800)
    return Run(process.returncode, out, err)


def _name(index: int) -> str:
    return f"part{index // _IN_A_FOLDER:02}/file{index:04}.py"


def _texts(count: int, rng: random.Random) -> list[bytes]:
    fixtures = sorted((ROOT / "fixtures").glob("*/flagged_*.py"))
    texts = [path.read_bytes() for path in fixtures if ".fixed" not in path.name]
    texts = [text for text in texts if _SAFE.search(text.decode("utf-8", "replace"))]
    return [rng.choice(texts).rstrip() + f"\n# file {index}\n".encode() for index in range(count)]
