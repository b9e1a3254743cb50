"""Files as they were at a git revision, written beside the tree; git reads objects for it, and runs nothing of the repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from amplint.system.reading import SOURCE_LIMIT

_WANTED = (".py", ".ipynb")
_SETTINGS = ("pyproject.toml", "amplint.toml", "setup.cfg", "requirements.txt", ".gitignore")
_REGULAR = ("100644", "100755")
_ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
"""What is not in the repository stays out: nothing is fetched, by whatever program the repository names for that."""


class RevisionError(Exception):
    """A revision that cannot be read; the message is one line."""


class _Entry(NamedTuple):
    name: str
    identity: str
    size: int


def top_of(folder: Path) -> Path | None:
    """The top folder of the git repository that a folder lies in; None where it lies in none.

    Raises:
        RevisionError: there is no git, or it refuses the repository.
    """
    run = _git(folder, "rev-parse", "--show-cdup")
    if run.returncode == 0:
        return Path(os.path.normpath(folder / os.fsdecode(run.stdout).rstrip("\n")))
    said = os.fsdecode(run.stderr).strip().splitlines()
    if any("dubious ownership" in line for line in said):
        raise RevisionError(f"git does not trust the repository that {folder} lies in: it belongs to somebody else")
    return None


def write_revision(top: Path, revision: str, folder: Path) -> None:
    """Write the Python files, notebooks and settings of a revision into an empty folder.

    Args:
        top: the top folder of the repository.
        revision: any name that git has for a commit or a tree.
        folder: where to write.

    Raises:
        RevisionError: git knows no such revision, or cannot read it.
    """
    tree = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{tree}")
    if tree.returncode:
        raise RevisionError(f"`{revision}` is no revision of the git repository")
    identity = os.fsdecode(tree.stdout).strip()
    listed = _git(top, "ls-tree", "-r", "-z", "-l", "--full-tree", identity)
    if listed.returncode:
        raise RevisionError(f"git cannot read `{revision}`: {_last_line(listed.stderr)}")
    entries = list(_entries(os.fsdecode(listed.stdout)))
    with tempfile.TemporaryFile() as answers:
        asked = "".join(f"{entry.identity}\n" for entry in entries).encode()
        _git(top, "cat-file", "--batch", given=asked, answers=answers)
        answers.seek(0)
        for entry in entries:
            data = _next_blob(answers)
            if data is not None:
                path = folder / entry.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    (folder / ".git").mkdir(exist_ok=True)  # marks the top, as in the repository


def _git(
    folder: Path, *arguments: str, given: bytes = b"", answers: BinaryIO | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = ("git", "-c", "core.fsmonitor=false", *arguments)
    try:
        return subprocess.run(
            command,
            cwd=folder,
            input=given,
            stdout=subprocess.PIPE if answers is None else answers,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ALONE, "LC_ALL": "C"},
        )
    except FileNotFoundError as error:
        raise RevisionError("`git` is not installed, or not on the PATH") from error
    except OSError as error:
        raise RevisionError(f"git cannot be run: {error.strerror or error}") from error


def _last_line(said: bytes) -> str:
    lines = os.fsdecode(said).strip().splitlines()
    return lines[-1] if lines else "it does not say why"


def _entries(listed: str) -> Iterator[_Entry]:
    for line in filter(None, listed.split("\0")):
        facts, _, name = line.partition("\t")
        mode, _, identity, size = facts.split()
        path = PurePosixPath(name)
        wanted = path.suffix in _WANTED or path.name in _SETTINGS
        if wanted and mode in _REGULAR and int(size) <= SOURCE_LIMIT and _stays_inside(name, path.parts):
            yield _Entry(name, identity, int(size))


def _stays_inside(name: str, parts: Sequence[str]) -> bool:
    """Whether a name in a tree, which anybody may have written, leads to a place below the folder."""
    return not name.startswith("/") and "\\" not in name and not {"..", ".git"}.intersection(map(str.lower, parts))


def _next_blob(answers: BinaryIO) -> bytes | None:
    """What `cat-file --batch` says next; None for an object that the repository lacks."""
    head = answers.readline().split()
    if len(head) != 3:
        return None
    data = answers.read(int(head[2]))
    answers.read(1)
    return data
