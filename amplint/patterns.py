"""Paths against gitignore patterns. pathspec is imported only when there is a pattern to match: it is slow to import."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@lru_cache(maxsize=256)
def compiled(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """The patterns, in the order of a `.gitignore` file.

    Raises:
        ValueError: one of them is no gitignore pattern.
    """
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def verdict(patterns: tuple[str, ...], root: str, path: str, folder: bool = False) -> bool | None:
    """Whether the last pattern that speaks of `path` matches it (True) or spares it (False, `!pattern`); None: none speaks.

    `root` and `path` are absolute; patterns are relative to `root`.
    """
    if not patterns:
        return None
    # Outside of the root only patterns that match anywhere can hold; the whole path keeps the anchored ones away.
    relative = path.removeprefix(root.rstrip(os.sep) + os.sep).lstrip(os.sep)
    return compiled(patterns).check_file(relative.replace(os.sep, "/") + ("/" if folder else "")).include


def rebase(patterns: Sequence[str], written_in: str, root: str) -> tuple[str, ...]:
    """Patterns that were written relative to one folder, made relative to another (both absolute)."""
    moved = (_rebase(pattern, written_in, root) for pattern in patterns)
    return tuple(pattern for pattern in moved if pattern is not None)


def _rebase(pattern: str, written_in: str, root: str) -> str | None:
    bare = pattern.removeprefix("!")
    negated = pattern[: len(pattern) - len(bare)]
    anchored = "/" in bare.rstrip("/") and not bare.startswith("**/")
    if written_in == root or not anchored:
        return pattern
    parts = bare.lstrip("/").removeprefix("./").split("/")
    way = os.path.relpath(written_in, root).split(os.sep)
    if os.pardir not in way:  # the root lies above
        return negated + "/" + "/".join([*way, *parts])
    way = os.path.relpath(root, written_in).split(os.sep)
    leads = len(parts) > len(way) and all(fnmatchcase(name, part) for name, part in zip(way, parts))
    return negated + "/" + "/".join(parts[len(way) :]) if leads else None
