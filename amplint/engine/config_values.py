"""What may stand in a configuration file: its keys, and how the value of each is checked and kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.\d+)?")


def torch_version(text: str) -> tuple[int, int]:
    """Major and minor of a version such as "2.4" or "2.4.1".

    Raises:
        ValueError: the text is no such version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a version such as "2.4"')
    return int(match[1]), int(match[2])


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _per_file(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError("must be a table of patterns, each with a list of rules")
    return tuple((pattern, _strings(selectors)) for pattern, selectors in value.items())


def _wrappers(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(file, str) for file in value.values()):
        raise ValueError('must be a table of modules, each with a file: "library.amp" = "wrappers/library_amp.py"')
    return tuple(value.items())


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _torch(value: Any) -> tuple[int, int]:
    if not isinstance(value, str):  # as a number, 2.10 would be 2.1
        raise ValueError('must be a string such as "2.4"')
    return torch_version(value)


KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "select": ("select", _strings),
    "extend-select": ("extend_select", _strings),
    "ignore": ("ignore", _strings),
    "per-file-ignores": ("per_file_ignores", _per_file),
    "exclude": ("exclude", _strings),
    "torch-version": ("torch", _torch),
    "wrappers": ("wrappers", _wrappers),
    "cache-dir": ("cache_dir", _string),
    "baseline": ("baseline", _string),
}
"""The keys, each with the field of `Settings` that it fills and the function that reads its value, or raises a ValueError."""
