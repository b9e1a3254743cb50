"""Files as they were at a git revision: git reads objects for it, and runs nothing of the repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from time import gmtime, strftime
from typing import BinaryIO, NamedTuple

from amplint.system.reading import SOURCE_LIMIT

_WANTED = (".py", ".ipynb")
SETTINGS_FILES = ("pyproject.toml", "amplint.toml", "setup.cfg", "requirements.txt", ".gitignore")
"""The names of files that settings are read from, or what stands in for them."""
_REGULAR = ("100644", "100755")
_ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
"""What is not in the repository stays out: nothing is fetched, by whatever program the repository names for that."""
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""What git tells its hooks: the repository that is asked for is the one that the folder lies in."""


def bears_on_findings(name: str) -> bool:
    """Whether a file of this name is one that is checked, or that settings are read from; the name may be a path."""
    return name.endswith(_WANTED) or os.path.basename(name) in SETTINGS_FILES


class RevisionError(Exception):
    """A revision that cannot be read; the message is one line."""


class NamedCommit(NamedTuple):
    """A commit: its name, its day in UTC (such as 2026-01-31), and the first line of its message."""

    name: str
    day: str
    subject: str


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
    names = files_at(top, revision)
    for name, data in contents(top, names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / ".git").mkdir(exist_ok=True)  # marks the top, as in the repository


def files_at(top: Path, revision: str) -> dict[str, str]:
    """The Python files, notebooks and settings of a revision: the identity of the content of each, by its path, with slashes.

    Args:
        top: the top folder of the repository.
        revision: any name that git has for a commit or a tree.

    Raises:
        RevisionError: git knows no such revision, or cannot read it.
    """
    tree = _tree(top, revision)
    listed = _git(top, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
    if listed.returncode:
        raise RevisionError(f"git cannot read `{revision}`: {_last_line(listed.stderr)}")
    return dict(_entries(os.fsdecode(listed.stdout)))


def contents(top: Path, identities: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """What files of a revision hold, those left out that the repository lacks.

    Args:
        top: the top folder of the repository.
        identities: those of the contents, by whatever names they are to be given back under.

    Raises:
        RevisionError: git cannot be run.
    """
    with tempfile.TemporaryFile() as answers:
        asked = "".join(f"{identity}\n" for identity in identities.values()).encode()
        _git(top, "cat-file", "--batch", given=asked, answers=answers)
        answers.seek(0)
        for name in identities:
            data = _next_blob(answers)
            if data is not None:
                yield name, data


def parting(top: Path, revision: str) -> str:
    """The commit from which both a revision and the one that is checked out come; the revision where there is none.

    Args:
        top: the top folder of the repository.
        revision: any name that git has for a commit or a tree.

    Raises:
        RevisionError: git knows no such revision.
    """
    tree = _tree(top, revision)
    base = _git(top, "merge-base", "--end-of-options", revision, "HEAD")
    return os.fsdecode(base.stdout).split()[0] if base.returncode == 0 else tree


def latest_commits(top: Path, most: int) -> list[NamedCommit]:
    """The commits that led to the one which is checked out, each time by the first parent; the oldest first.

    Args:
        top: the top folder of the repository.
        most: how many at most.

    Raises:
        RevisionError: there is none yet, or git cannot read them.
    """
    asked = ("rev-list", "--first-parent", f"--max-count={most}", "--format=%H%x00%ct%x00%s", "HEAD", "--")
    listed = _git(top, *asked)
    if listed.returncode:
        raise RevisionError("the git repository has no commits yet")
    lines = (line.split("\0") for line in listed.stdout.decode("utf-8", "replace").split("\n") if "\0" in line)
    found = [NamedCommit(name, strftime("%Y-%m-%d", gmtime(int(seconds))), rest[0]) for name, seconds, *rest in lines]
    return found[::-1]


def _tree(top: Path, revision: str) -> str:
    found = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{tree}")
    if found.returncode:
        raise RevisionError(f"`{revision}` is no revision of the git repository")
    return os.fsdecode(found.stdout).strip()


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
            env={**_surroundings(), **_ALONE, "LC_ALL": "C"},
        )
    except FileNotFoundError as error:
        raise RevisionError("`git` is not installed, or not on the PATH") from error
    except OSError as error:
        raise RevisionError(f"git cannot be run: {error.strerror or error}") from error


def _surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}


def _last_line(said: bytes) -> str:
    lines = os.fsdecode(said).strip().splitlines()
    return lines[-1] if lines else "it does not say why"


def _entries(listed: str) -> Iterator[tuple[str, str]]:
    for line in filter(None, listed.split("\0")):
        facts, _, name = line.partition("\t")
        mode, _, identity, size = facts.split()
        path = PurePosixPath(name)
        if (
            bears_on_findings(name)
            and mode in _REGULAR
            and int(size) <= SOURCE_LIMIT
            and _stays_inside(name, path.parts)
        ):
            yield name, identity


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
