"""Real training repositories, by name and commit, laid out as folders of Python files and notebooks.

Their sources belong to their authors and are never committed here.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

SITE = "https://github.com"
SUFFIXES = (".py", ".ipynb")


class RepositoryError(Exception):
    """A repository that could not be had; the text is one line."""


@dataclass(frozen=True)
class Repository:
    """One commit of a repository; `edited` is the file in it that an editor is taken to show."""

    name: str
    commit: str
    edited: str = ""

    @property
    def folder(self) -> str:
        """Its folder among the laid out ones."""
        return f"{self.name.replace('/', '+')}@{self.commit[:12]}"


REPOSITORIES = (
    Repository(
        "NVIDIA/DeepLearningExamples",
        "729963dd47e7c8bd462ad10bfac7a7b0b604e6dd",
        edited="PyTorch/LanguageModeling/Transformer-XL/pytorch/train.py",
    ),
)


def lay_out(repository: Repository, cache: Path, mirrors: Path | None = None) -> Path:
    """The folder that holds the Python files and notebooks of a repository; made unless it is there.

    Args:
        repository: what is wanted.
        cache: the folder for all repositories.
        mirrors: a folder of bare repositories, called `owner+name` or `owner+name/repo`; without it git fetches from GitHub.

    Returns:
        A folder in `cache`.

    Raises:
        RepositoryError: git cannot fetch the commit, or read it.
    """
    folder = cache / repository.folder
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        # Made beside its place and renamed, so that an interrupted run leaves nothing that looks complete.
        with tempfile.TemporaryDirectory(dir=cache, prefix=".making-") as scratch:
            source = _fetched(repository, Path(scratch) / "git") if mirrors is None else _mirror(repository, mirrors)
            made = Path(scratch) / "tree"
            _unpack(_git(source, "archive", repository.commit), made)
            made.rename(folder)
    return folder


def _mirror(repository: Repository, mirrors: Path) -> Path:
    named = mirrors / repository.name.replace("/", "+")
    return named / "repo" if (named / "repo").is_dir() else named


def _fetched(repository: Repository, folder: Path) -> Path:
    print(f"fetching {repository.name} at {repository.commit[:12]}", file=sys.stderr)
    folder.mkdir()
    _git(folder, "init", "--bare", "--quiet")
    _git(folder, "fetch", "--quiet", "--depth", "1", f"{SITE}/{repository.name}", repository.commit)
    return folder


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "--git-dir", str(repository), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RepositoryError(f"git {arguments[0]}: {reason}")
    return done.stdout


def _unpack(archive: bytes, folder: Path) -> None:
    # Regular files only: links have no place in a tree that is merely read.
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            target = (folder / member.name).resolve()
            wanted = member.isreg() and member.name.endswith(SUFFIXES) and target.is_relative_to(folder.resolve())
            stream = tar.extractfile(member) if wanted else None
            if stream is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(stream.read())
