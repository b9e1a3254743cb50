"""SIGKILL at random moments."""

from __future__ import annotations

import subprocess
import time
from collections import Counter

from .tree import Broken, Tree, ended

Figures = dict[str, object]
_ANYWHEN = 0.2
"""The share of kills at any moment of a run; the others come while files are being written."""


def kills(tree: Tree, count: int) -> Figures:
    """Kill `--fix` so many times; each time every file must be whole, and the next run must end as if nothing had been."""
    figures: Counter[str] = Counter()
    began = time.monotonic()
    tree.fix()
    takes = time.monotonic() - began
    for number in range(count):
        tree.restore()
        process = tree.start("--fix")
        if tree.rng.random() < _ANYWHEN:
            time.sleep(tree.rng.uniform(0, takes))
        else:
            _wait_until_written(tree, process)
        process.kill()
        process.communicate()
        figures["kills that hit a run"] += process.returncode < 0
        fixed = tree.check_whole()
        figures["kills with some files fixed and some not"] += 0 < fixed < len(tree.fixable)
        figures["files examined"] += len(tree.fixable)
        figures["temporary files left by kills"] += len(tree.strangers())
        try:
            tree.check_done(ended(tree.start("--fix")))
        except Broken as error:
            raise Broken(f"after kill {number}: {error}") from error
    return {"kills": count, "files": len(tree.fixable), **figures, "files neither old nor fixed": 0}


def _wait_until_written(tree: Tree, process: subprocess.Popen[str]) -> None:
    """Wait until a random file is about to be written, and then for a random part of the time that a file takes."""
    at = tree.rng.randrange(len(tree.fixable))
    until = tree.folder / tree.fixable[at]
    before = until.stat().st_ino
    folder = until.parent
    names = {path.name for path in folder.iterdir()}
    in_the_act = tree.rng.random() < 0.5
    while process.poll() is None and until.stat().st_ino == before:
        if in_the_act and {path.name for path in folder.iterdir()} - names:
            return  # something is being written beside a file of this folder
        time.sleep(0.0001 if in_the_act else 0.0005)
    time.sleep(tree.rng.uniform(0, 0.05))
