"""A copy of a project, for reading only: what its code finds where it looks for its modules, instead of the tree itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

SUFFIXES = frozenset({".py", ".json", ".yaml", ".yml", ".toml", ".txt", ".cfg", ".ini"})
"""Code, and what it may be configured by: no data, no programs, nothing that was compiled."""
_LARGEST = 1_000_000
_MOST_FILES, _MOST_BYTES = 20_000, 200_000_000


class TooLarge(Exception):
    """The tree has more files, or larger ones, than are copied."""


@contextmanager
def place_for_copies() -> Iterator[Path]:
    """A folder of this user's own for copies, which is gone afterwards with all of them."""
    folder = Path(tempfile.mkdtemp(prefix="amplint-"))
    try:
        yield folder
    finally:
        for path, _, _ in os.walk(folder):
            with suppress(OSError):
                os.chmod(path, 0o700)
        shutil.rmtree(folder, ignore_errors=True)


def copied(root: Path, place: Path) -> Path:
    """The copy of a tree; it is made by the first who asks.

    Args:
        root: the tree. Links in it are left out, and so are hidden folders and virtual environments.
        place: where copies lie.

    Raises:
        TooLarge: it is too large to be copied.
        OSError: it cannot be copied.
    """
    final = place / blake2b(os.fsencode(root), digest_size=16).hexdigest()
    if final.is_dir():
        return final
    being_made = Path(tempfile.mkdtemp(dir=place))
    try:
        _copy(root, being_made)
        _protect(being_made)
        with suppress(OSError):  # somebody else was faster
            being_made.rename(final)
    except TooLarge:
        shutil.rmtree(being_made, ignore_errors=True)
        raise
    return final


def _copy(root: Path, target: Path) -> None:
    files = size = 0
    for path, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not _is_aside(Path(path, name))]
        here = target / Path(path).relative_to(root)
        here.mkdir(exist_ok=True)
        for name in names:
            source = Path(path, name)
            if source.suffix not in SUFFIXES or source.is_symlink() or not source.is_file():
                continue
            files, length = files + 1, source.stat().st_size
            size += length
            if files > _MOST_FILES or size > _MOST_BYTES:
                raise TooLarge
            if length <= _LARGEST:
                shutil.copyfile(source, here / name)


def _is_aside(folder: Path) -> bool:
    return (
        folder.name.startswith(".")
        or folder.name in ("__pycache__", "node_modules", "site-packages")
        or folder.is_symlink()
        or (folder / "pyvenv.cfg").exists()
    )


def _protect(folder: Path) -> None:
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            os.chmod(os.path.join(path, name), 0o400)
        os.chmod(path, 0o500)
