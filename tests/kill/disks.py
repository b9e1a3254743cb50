"""Disks that are full, folders and files that may not be written."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from .tree import Broken, Run, Tree

Figures = dict[str, object]
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
_FULL = ("No space left on device", "File too large", "Disk quota exceeded")


def full_disks(home: Path, files: int, rng: random.Random, rounds: int) -> Figures:
    """Fix on a small disk on which there is room for less and less, and then for nothing. Only root may mount one."""
    disk = home / "disk"
    disk.mkdir()
    mount = [
        "mount",
        "-t",
        "tmpfs",
        "-o",
        f"size={files * 8 + 4096}k,nr_inodes={files * 4 + 1000}",
        "amplint",
        str(disk),
    ]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        return {"skipped": "no disk may be mounted here"}
    try:
        tree = Tree(disk, files, rng)
        return _rounds(tree, rounds)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _rounds(tree: Tree, rounds: int) -> Figures:
    figures: Counter[str] = Counter()
    filler = tree.home / "filler"
    for number in range(rounds):
        tree.restore()
        _fill(filler, leave=tree.rng.choice((0, 0, 1, 2)) if number else 0)
        run = tree.fix("--no-cache")
        figures["files that the disk refused"] += _refused(tree, run, tree.check_whole())
        filler.unlink()
        tree.check_done(tree.fix())
    return {"rounds": rounds, "files": len(tree.fixable), **figures, "files neither old nor fixed": 0}


def _fill(filler: Path, leave: int) -> None:
    """Use up a disk but for so many pages."""
    page = os.sysconf("SC_PAGE_SIZE")
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * page)
        except OSError:
            size = file.tell() // page * page
            file.truncate(max(0, size - leave * page))


def _refused(tree: Tree, run: Run, done: int) -> int:
    """How many files were refused; each must have been told of in a line of its own."""
    if tree.strangers():
        raise Broken(f"something is left on the full disk: {tree.strangers()}")
    refused = len(tree.fixable) - done
    told = [line for line in run.errors if ": cannot be written: " in line and line.endswith(_FULL)]
    if len(told) != refused or run.errors != told or run.code != (2 if refused else tree.undisturbed.code):
        raise Broken(f"{refused} files were refused, and the run said: {run.code} {run.err}")
    return refused


def too_large(tree: Tree) -> Figures:
    """Fix where no file may grow beyond a limit, which some of the fixed files do: as with a quota."""
    import resource

    sizes = sorted(len(tree.fixed(name)) for name in tree.fixable)
    limit = sizes[len(sizes) // 2]
    run = tree.fix("--no-cache", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    refused = _refused(tree, run, tree.check_whole())
    tree.check_done(tree.fix())
    return {"files": len(tree.fixable), "files that the limit refused": refused, "files neither old nor fixed": 0}


def read_only(tree: Tree) -> Figures:
    """Fix where every third folder and every fifth file may not be written, which root must be made to obey."""
    names = sorted(path.relative_to(tree.folder).as_posix() for path in tree.folder.rglob("*.py"))
    folders = sorted({Path(name).parent for name in names})
    closed = {os.fspath(folder) for folder in folders[::3]}
    locked = {name for name in names[::5] if os.path.dirname(name) not in closed}
    if os.geteuid() == 0 and not _can_bow():
        return {"skipped": "root may write everything here"}
    modes = {name: (tree.folder / name).stat().st_mode for name in names}
    for name in locked:
        (tree.folder / name).chmod(0o444)
    for folder in closed:
        (tree.folder / folder).chmod(0o555)
    run = tree.fix("--no-cache", before=_bow if os.geteuid() == 0 else None)
    for folder in closed:
        (tree.folder / folder).chmod(0o755)
    for name in locked:
        (tree.folder / name).chmod(modes[name] & 0o7777)
    refused = {name for name in tree.fixable if name in locked or os.path.dirname(name) in closed}
    told = {
        f"{name}: cannot be written: {'it is read-only' if name in locked else 'Permission denied'}" for name in refused
    }
    done = {name for name in tree.fixable if (tree.folder / name).read_bytes() == tree.fixed(name)}
    if set(run.errors) != told or run.code != 2 or done != {*tree.fixable} - refused:
        raise Broken(f"what is read-only: {run.code} {run.err}")
    tree.check_whole()
    tree.check_done(tree.fix())
    return {"files": len(tree.fixable), "files that were refused": len(refused), "files neither old nor fixed": 0}


def _can_bow() -> bool:
    """Whether root can be made to obey permissions: on Linux, where it may have all its other rights."""
    return sys.platform == "linux" and subprocess.run(["true"], preexec_fn=_bow).returncode == 0


def _bow() -> None:
    """Give up the right to ignore permissions; it is gone with the next program that is started."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the right to ignore permissions stays")
