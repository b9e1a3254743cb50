"""The folder of the project that a file lies in, told by what lies there."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What lies in the folder of a project."""
_TOLD_TO_READERS = (
    "README.md",
    "README.rst",
    "README",
    "LICENSE",
    "LICENSE.md",
    "LICENSE.txt",
    "requirements.txt",
    ".github",
)
"""What lies there too, and in no package around it: some projects hold an `__init__.py` by mistake."""


def project_around(folder: Path) -> Path:
    """The folder of the project around a folder: the nearest with a mark, or the one that holds its outermost package, or is
    told to be a project by a README or the like, or by a name that no import can have.

    Args:
        folder: an absolute path.
    """
    return Path(_around(os.fspath(folder)))


def marked_above(folder: Path) -> Path | None:
    """The nearest of a folder and those around it in which one of the marks lies.

    Args:
        folder: an absolute path.
    """
    found = _mark_above(os.fspath(folder))
    return None if found is None else Path(found)


@lru_cache(maxsize=100_000)
def _around(folder: str) -> str:
    marked = _mark_above(folder)
    if marked is not None:
        return marked
    while os.path.isfile(os.path.join(folder, "__init__.py")) and folder != os.path.dirname(folder):
        importable = os.path.basename(folder).isidentifier()
        if not importable or any(os.path.exists(os.path.join(folder, name)) for name in _TOLD_TO_READERS):
            break
        folder = os.path.dirname(folder)
    return folder


def _mark_above(folder: str) -> str | None:
    around = (folder, *map(os.fspath, Path(folder).parents))
    return next((each for each in around if _is_marked(each)), None)


@lru_cache(maxsize=100_000)
def _is_marked(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS)
