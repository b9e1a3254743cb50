"""Others at work in the same files: a second run, an editor."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter

from .tree import Broken, Tree, ended

Figures = dict[str, object]
_PACE = 0.02
"""Seconds between two edits."""


def two_runs(tree: Tree, rounds: int) -> Figures:
    """Two runs at once: neither may have anything to complain of, and in the end all is fixed."""
    for _ in range(rounds):
        tree.restore()
        first = tree.start("--fix")
        time.sleep(tree.rng.choice((0, 0, tree.rng.uniform(0, 2))))
        second = tree.start("--fix")
        for run in (ended(first), ended(second)):
            if run.errors or run.code not in (0, 1):
                raise Broken(f"one of two runs: {run.code} {run.err}")
        if tree.check_whole() != len(tree.fixable) or tree.strangers():
            raise Broken(f"two runs left something: {tree.strangers()}")
        tree.check_done(tree.fix())
    return {"rounds": rounds, "files": len(tree.fixable), "errors": 0, "files neither old nor fixed": 0}


class _Editor(threading.Thread):
    """Saves files at random, each time with one more line at the end: half of the times in place, half by a rename."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self._tree = tree
        self.done = threading.Event()
        self.lines: dict[str, bytes] = {}
        self.edits = 0

    def run(self) -> None:
        rng = self._tree.rng
        while not self.done.wait(rng.uniform(0, 2 * _PACE)):
            name = rng.choice(self._tree.fixable)
            path = self._tree.folder / name
            line = f"# edit {self.edits}\n".encode()
            text = path.read_bytes() + line
            if rng.random() < 0.5:
                path.write_bytes(text)
            else:
                beside = path.with_suffix(".saving")
                beside.write_bytes(text)
                beside.chmod(path.stat().st_mode & 0o7777)
                os.replace(beside, path)
            self.lines[name] = self.lines.get(name, b"") + line
            self.edits += 1


def edits(tree: Tree) -> Figures:
    """Somebody saves files while they are fixed: what they wrote is there afterwards, on the old text or on the fixed one."""
    figures: Counter[str] = Counter()
    editor = _Editor(tree)
    editor.start()
    run = tree.fix("--no-cache")
    editor.done.set()
    editor.join()
    if [line for line in run.errors if not line.endswith("is changed again and again by another program; not fixed")]:
        raise Broken(f"while somebody else saved: {run.err}")
    for name, lines in editor.lines.items():
        data = (tree.folder / name).read_bytes()
        if data not in (tree.original(name) + lines, tree.fixed(name) + lines):
            raise Broken(f"an edit of {name} is lost: {lines!r} {data!r}")
        figures["edited files that were fixed, too"] += data == tree.fixed(name) + lines
    tree.check_whole(but=[*editor.lines])
    if tree.strangers():
        raise Broken(f"something is left: {tree.strangers()}")
    return {"files": len(tree.fixable), "edits": editor.edits, **figures, "edits lost": 0}
