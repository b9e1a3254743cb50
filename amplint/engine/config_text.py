"""Configuration files as text: the table of amplint in one, and the row on which a key stands."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amplint.system.reading import SETTINGS_LIMIT, read_file

_SHARED = "pyproject.toml"
"""The file in which amplint has a table of its own; any other is all about amplint."""
_PART = r"""\s*("[^"]*"|'[^']*'|[\w-]+)\s*"""
_DOTTED = rf"{_PART}(?:\.{_PART})*"
_HEADER = rf"\s*\[({_DOTTED})\]"
_ASSIGNED = rf"({_DOTTED})="


def table_of(path: Path) -> dict[str, Any] | None:
    """The table of amplint in a file; None when it has none.

    Raises:
        ValueError: the file cannot be read, is no TOML, or holds something else in the place of the table; one line.
    """
    try:
        data = read_file(path, SETTINGS_LIMIT)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from error
    shared = path.name == _SHARED
    if shared and b"amplint" not in data:
        return None  # says nothing to us: not worth importing a parser for
    try:
        document = parsed(data.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"is not valid TOML: {error}") from error
    if not shared:
        if isinstance(document.get("tool"), dict) and "amplint" in document["tool"]:
            raise ValueError(f"`[tool.amplint]` is for {_SHARED}; here the keys stand without it")
        return document
    tools = document.get("tool")
    table = tools.get("amplint") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ValueError("`tool.amplint` must be a table")
    return table


def parsed(text: str) -> dict[str, Any]:
    """What a text in TOML says.

    Raises:
        ValueError: it is none; one line.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        document: dict[str, Any] = tomllib.loads(text)
        return document
    except ValueError as error:  # beside what is no TOML: a number of 5,000 digits
        raise ValueError(f"is not valid TOML: {error}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def row_of(path: Path, keys: Sequence[str]) -> int:
    """The row on which a key of amplint stands in a configuration file, or the innermost table around it; 0 if none is found.

    Args:
        path: the file.
        keys: the key, behind those of the tables around it.
    """
    try:
        text = read_file(path, SETTINGS_LIMIT).decode(errors="replace")
    except OSError:
        return 0
    above = ["tool", "amplint"] if path.name == _SHARED else []
    header: list[str] = []
    best = (len(above), 0)
    for row, line in enumerate(text.split("\n"), 1):
        if opened := re.match(_HEADER, line):
            there = header = _parts(opened[1])
        elif assigned := re.match(_ASSIGNED, line):
            there = header + _parts(assigned[1])
        else:
            continue
        common = next((at for at, pair in enumerate(zip(there, [*above, *keys])) if pair[0] != pair[1]), None)
        depth = min(len(there), len(above) + len(keys)) if common is None else common
        if depth > best[0]:
            best = (depth, row)
    return best[1]


def shown_key(keys: Sequence[str]) -> str:
    """Keys within each other as TOML writes them: `rules.AMP401`, `wrappers."library.amp"`."""
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else f'"{key}"' for key in keys)


def _parts(written: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, written)]
