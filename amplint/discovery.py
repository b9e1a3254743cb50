"""Which files a run looks at.

Folders are walked for `*.py` and `*.ipynb`, in the order of names, past what `.gitignore` files, the settings' `exclude` and
`DEFAULT_EXCLUDES` name; symbolic links to folders are not followed, so that no file comes twice and no loop matters. A file
that is named itself is taken whatever it is called, unless `exclude` names it: pre-commit names every file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from amplint import patterns
from amplint.config import ConfigError, Settings, SettingsResolver

DEFAULT_EXCLUDES = frozenset((
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d", ".pytest_cache",
    ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "build",
    "dist", "node_modules", "site-packages", "venv",
))  # fmt: skip
"""Names of folders that a walk does not enter; a folder that is named itself is walked all the same."""


_SUFFIXES = (".py", ".ipynb")


class Found(NamedTuple):
    """A file to check: where it lies (absolute), what to call it, and whether the user named it."""

    path: Path
    display: str
    settings: Settings
    explicit: bool = False


class Problem(NamedTuple):
    """A place that cannot be looked at, and why, in one line."""

    display: str
    message: str


class Excluded(NamedTuple):
    """A path that the user named and the settings exclude."""

    display: str


Discovered = Found | Problem | Excluded
_Ignores = tuple[tuple[str, tuple[str, ...]], ...]
"""The patterns of `.gitignore` files that hold in a folder, the nearest file last, each with the folder it lies in."""


class _Folder(NamedTuple):
    """A folder to walk, and the ignore files that hold in it."""

    path: str
    ignores: _Ignores


def discover(paths: Iterable[str], resolver: SettingsResolver) -> Iterator[Discovered]:
    """The files under the given paths, each once, and the paths that are none, in the order given."""
    walk = _Walk(resolver)
    for path in paths:
        yield from walk.named(path)


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a loop of symbolic links"
    return f"cannot be read: {error.strerror or error}"


class _Walk:
    def __init__(self, resolver: SettingsResolver) -> None:
        self._resolver = resolver
        self._cwd = os.getcwd()
        self._seen: set[str] = set()

    def named(self, given: str) -> Iterator[Discovered]:
        """What a path of the command line stands for."""
        path = os.path.abspath(given)
        try:
            folder = stat.S_ISDIR(os.stat(path).st_mode)
        except FileNotFoundError:
            yield Problem(given, "does not exist")
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            yield Problem(given, _why(error) if isinstance(error, OSError) else "is not a path")
        else:
            try:
                settings = self._resolver.for_folder(Path(path if folder else os.path.dirname(path)))
                if settings.excludes(path, folder):
                    yield Excluded(self._display(path))
                elif folder:
                    above = _ignores_above(path)
                    # Whoever names a folder that git ignores means it.
                    yield from self._folder(path, () if _ignored(path, above, folder=True) else above)
                elif path not in self._seen:
                    self._seen.add(path)
                    yield Found(Path(path), self._display(path), settings, explicit=True)
            except ConfigError as error:
                yield Problem("", str(error))

    def _display(self, path: str) -> str:
        return "." if path == self._cwd else path.removeprefix(self._cwd.rstrip(os.sep) + os.sep)

    def _folder(self, folder: str, ignores: _Ignores) -> Iterator[Discovered]:
        """What lies below a folder. Folders may be nested deeper than Python nests calls."""
        inside = [self._listed(_Folder(folder, ignores))]
        while inside:
            item = next(inside[-1], None)
            if item is None:
                inside.pop()
            elif isinstance(item, _Folder):
                inside.append(self._listed(item))
            else:
                yield item

    def _listed(self, listed: _Folder) -> Iterator[Discovered | _Folder]:
        """What lies in a folder, folders in it unopened."""
        folder, ignores = listed
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
            settings = self._resolver.for_folder(Path(folder))
            ignores += _ignores_in(folder) if any(entry.name == ".gitignore" for entry in entries) else ()
        except OSError as error:
            yield Problem(self._display(folder), _why(error))
            return
        except ConfigError as error:
            yield Problem("", str(error))
            return
        for entry in entries:
            yield from self._entry(entry, settings, ignores)

    def _entry(self, entry: os.DirEntry[str], settings: Settings, ignores: _Ignores) -> Iterator[Discovered | _Folder]:
        folder = entry.is_dir(follow_symlinks=False)
        if folder and entry.name in DEFAULT_EXCLUDES or not folder and not entry.name.endswith(_SUFFIXES):
            return
        if _ignored(entry.path, ignores, folder) or settings.excludes(entry.path, folder):
            return
        if folder:
            yield _Folder(entry.path, ignores)
            return
        try:
            regular = entry.is_file()  # False also for a link that leads nowhere: Emacs locks files so
        except OSError as error:
            yield Problem(self._display(entry.path), _why(error))
            return
        if regular and entry.path not in self._seen:
            self._seen.add(entry.path)
            yield Found(Path(entry.path), self._display(entry.path), settings)


def _ignores_in(folder: str) -> _Ignores:
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
            lines = tuple(file.read().splitlines())
    except OSError:
        return ()  # git, too, goes on without an ignore file it cannot read
    return ((folder, lines),)


def _ignores_above(folder: str) -> _Ignores:
    """The ignore files above a folder, up to the top of its git repository; none when it lies in no repository."""
    above: list[str] = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        current, child = os.path.dirname(current), current
        if current == child:
            return ()
        above.append(current)
    return tuple(found for parent in reversed(above) for found in _ignores_in(parent))


def _ignored(path: str, ignores: _Ignores, folder: bool) -> bool:
    for root, lines in reversed(ignores):
        try:
            verdict = patterns.verdict(lines, root, path, folder)
        except ValueError:
            continue  # what git makes of a pattern that is none is not worth guessing
        if verdict is not None:
            return verdict
    return False
