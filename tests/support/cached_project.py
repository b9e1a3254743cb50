"""A project whose files have been cached, and the files of its cache."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import misbehaving_pack
import pytest
from forked import forked_amplint
from program import problems

from amplint.diagnostics import Applicability, Diagnostic, Edit, FileReport, Fix, Related
from amplint.engine import cache_storage
from amplint.source import Source

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")

SOURCE = Source.from_bytes("shown/file.py", b"one\ntwo \xc3\xa4\nthree\n")
REPORT = FileReport(
    "shown/file.py",
    (
        Diagnostic(
            "AMP101", "some-name", "Message `x`", SOURCE.range(4, 7), "note", (Related("here", SOURCE.range(0, 3), "other.py"),),
            Fix("Do it", (Edit(0, 1, "\n\u00e4"), Edit(3, 3, "")), Applicability.UNSAFE), frozenset({"mixed-precision"}),
            "shown/file.py",
        ),
        Diagnostic("AMP102", "other-name", "Message", SOURCE.range(9, 9), path="shown/file.py"),
    ),
    frozenset({"mixed-precision", "other"}),
)  # fmt: skip


def fresh_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """More files than are read without asking the cache; the rules leave traces, so that one sees whether they ran."""
    site = misbehaving_pack.install(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.amplint]\n")
    for number in range(20):
        (folder / f"file{number}.py").write_text("flags_here\n" if number % 2 else "x = 1\n")
    return folder


def caches(folder: Path) -> list[Path]:
    """The files of the cache in a folder, without one those of the user who works on a project."""
    user = folder.parent / "user" / "amplint"
    return list((user if folder.name == "project" else folder).glob("*/*.cache"))


def seal(file: Path, data: bytes, user: Path | None = None) -> None:
    """Write a file as only amplint can, for the user whose caches lie in a folder."""
    secret = ((user or Path(os.environ["XDG_CACHE_HOME"])) / "amplint" / "secret").read_bytes()
    file.write_bytes(cache_storage._seal(secret, file.name, data) + data)


def held(folder: Path) -> list[dict[str, list[Any]]]:
    """What the only file of the caches in a folder holds."""
    (file,) = caches(folder)
    return held_in(file)


def held_in(file: Path) -> list[dict[str, list[Any]]]:
    """What a file of a cache holds: entries, and the files that those rest on."""
    loaded: list[dict[str, list[Any]]] = json.loads(file.read_bytes()[cache_storage._SEAL :])
    return loaded


# -- one entry ----------------------------------------------------------------------------------------------------------


def check(project: Path, *arguments: str) -> str:
    done = forked_amplint(*arguments, ".", cwd=project)
    assert (done.returncode, problems(done)) == (1, [])
    return done.stdout


@cache
def _cold(project: Path) -> str:
    return check(project, "--no-cache")


def no_cache(project: Path, why: str, *arguments: str, chosen: bool = False) -> None:
    """The run says the same; why it will not be faster only to those who ask, or who have `chosen` where the cache lies."""
    cold = _cold(project)
    for verbose in ((), ("--verbose",)):
        done = forked_amplint(*verbose, *arguments, ".", cwd=project)
        assert (done.returncode, problems(done), done.stdout) == (1, [], cold)
        said = [line for line in done.stderr.splitlines() if "cached" in line]
        assert len(said) == bool(verbose or chosen)
        assert all(line.startswith(f"{'warning: ' * chosen}Nothing was cached: ") and why in line for line in said)
