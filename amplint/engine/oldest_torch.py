"""The oldest PyTorch that a project admits, as its own dependencies say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amplint.system.reading import SETTINGS_LIMIT, read_file

_REQUIREMENT = re.compile(r"^\s*torch\s*(?:\[[^\]]*\]\s*)?\(?([~=<>!^0-9][^;#]*)")
_BOUND = re.compile(r"(?:>=|~=|===?|>|\^)\s*(\d+)\.(\d+)")
_ALONE = re.compile(r"^\s*(\d+)\.(\d+)")
_NEEDED_BY_PYTHON = (((3, 14), (2, 9)), ((3, 13), (2, 5)))
"""Releases of Python, newest first, with the first PyTorch that runs on each."""

Version = tuple[int, int]


def oldest_torch(folder: Path) -> Version | None:
    """The oldest PyTorch (major, minor) that the project in a folder admits; None where its files set no bound.

    `pyproject.toml` is asked first, then `setup.cfg` and `requirements.txt`; of Python, `requires-python`. A file that
    cannot be read says nothing.
    """
    document = _document(folder / "pyproject.toml")
    project = _table(document, "project")
    python = _lowest(str(project.get("requires-python", "")))
    floors = [first for release, first in _NEEDED_BY_PYTHON if python is not None and python >= release]
    bound = next((each for line in _requirements(folder, document, project) if (each := _bound(line))), None)
    return max(filter(None, (bound, *floors[:1])), default=None)


def _requirements(folder: Path, document: dict[str, Any], project: dict[str, Any]) -> Iterator[str]:
    dependencies = project.get("dependencies")
    yield from (each for each in (dependencies if isinstance(dependencies, list) else ()) if isinstance(each, str))
    poetry = _table(_table(_table(document, "tool"), "poetry"), "dependencies").get("torch", "")
    wanted = poetry.get("version", "") if isinstance(poetry, dict) else poetry
    yield f"torch {wanted}"
    for name in ("setup.cfg", "requirements.txt"):
        yield from _text(folder / name).splitlines()


def _bound(requirement: str) -> Version | None:
    found = _REQUIREMENT.match(requirement)
    return _lowest(found[1]) if found else None


def _lowest(specifier: str) -> Version | None:
    """The oldest release that a specifier such as `>=2.1,<3` admits; None when it admits all that came before some."""
    bounds = [(int(major), int(minor)) for major, minor in _BOUND.findall(specifier)]
    alone = _ALONE.match(specifier)
    return max(bounds) if bounds else (int(alone[1]), int(alone[2])) if alone else None


def _text(path: Path) -> str:
    try:
        return read_file(path, SETTINGS_LIMIT).decode(errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def _document(path: Path) -> dict[str, Any]:
    text = _text(path)
    if "torch" not in text and "requires-python" not in text:
        return {}  # says nothing to us: not worth importing a parser for
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document


def _table(document: dict[str, Any], key: str) -> dict[str, Any]:
    table = document.get(key)
    return table if isinstance(table, dict) else {}
