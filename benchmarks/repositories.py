"""Real training repositories, by name and commit, laid out as folders of Python files and notebooks.

Their sources belong to their authors and are never committed here.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SITE = "https://github.com"
SUFFIXES = (".py", ".ipynb")
REGULAR = (b"100644 ", b"100755 ")
"""How git lists files that are neither links nor submodules."""


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

    Files of which git has no text, as a partial clone has none of large ones, are left out and named on stderr.

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
            made.mkdir()
            lacking = _write_files(source, _listed(source, repository.commit), made)
            made.rename(folder)
            if lacking:
                print(f"{repository.folder}: git has no text of {', '.join(lacking)}", file=sys.stderr)
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


def _git(repository: Path, *arguments: str, given: bytes = b"") -> bytes:
    command = ["git", "--git-dir", str(repository), *arguments]
    done = subprocess.run(command, input=given, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RepositoryError(f"git {arguments[0]}: {reason}")
    return done.stdout


def _listed(repository: Path, commit: str) -> dict[str, bytes]:
    """The name of the blob of each wanted file; regular files only: links have no place in a tree that is merely read."""
    entries = _git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
    named = (entry.partition(b"\t")[::2] for entry in entries if entry.startswith(REGULAR))
    found = {path.decode("utf-8", "surrogateescape"): about.split()[2] for about, path in named}
    return {path: blob for path, blob in found.items() if path.endswith(SUFFIXES)}


def _write_files(repository: Path, blobs: dict[str, bytes], folder: Path) -> list[str]:
    """Write files into a folder; the paths of those that the repository lacks, as a partial clone lacks large ones."""
    asked = b"".join(blob + b"\n" for blob in blobs.values())
    stream = io.BytesIO(_git(repository, "cat-file", "--batch", given=asked))
    lacking = []
    for path in blobs:
        _, kind, *size = stream.readline().split()
        target = (folder / path).resolve()
        if kind == b"missing":
            lacking.append(path)
            continue
        content = stream.read(int(size[0]))
        stream.readline()
        if target.is_relative_to(folder.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return lacking
