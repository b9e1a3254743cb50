"""Which files a run looks at.

Folders are walked for `*.py` and `*.ipynb`, or what the settings `include`, in the order of names, past what `.gitignore`
files, the settings' `exclude` and `DEFAULT_EXCLUDES` name; symbolic links to folders are not followed, so that no loop
matters. A file that is named itself is taken whatever it is called, unless `exclude` names it: pre-commit names every file. A
file that is found under several names (links, hard links, other spellings) comes once, under the first that is no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from amplint.engine.config import ConfigError, Settings, SettingsResolver
from amplint.engine.ignore_files import IgnoreFiles, Ignores, is_ignored_by, reason
from amplint.model.records import NamedTuple

DEFAULT_EXCLUDES = frozenset((
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d", ".pytest_cache",
    ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "build",
    "dist", "node_modules", "site-packages", "venv",
))  # fmt: skip
"""Names of folders that a walk does not enter; a folder that is named itself is walked all the same."""


_SUFFIXES = (".py", ".ipynb")


class FoundFile(NamedTuple):
    """A file to check: where it lies (absolute), what to call it, and whether the user named it.

    `others` are further names of the file under the given paths. `leads_out` is true of a link to a file that lies under none
    of the given paths; a file that is named itself stands for the folder it lies in.
    """

    path: Path
    display: str
    settings: Settings
    explicit: bool = False
    others: tuple[str, ...] = ()
    leads_out: bool = False


class Problem(NamedTuple):
    """A place that cannot be looked at, and why, in one line."""

    display: str
    message: str


class Excluded(NamedTuple):
    """A path that the user named and the settings exclude."""

    display: str


class Passed(NamedTuple):
    """Something that was passed over, and why, in one line; every file is looked at all the same."""

    display: str
    message: str


Discovered = FoundFile | Problem | Excluded | Passed


class _Folder(NamedTuple):
    """A folder to walk, and the ignore files that hold in it."""

    path: str
    ignores: Ignores


def discover(paths: Iterable[str], resolver: SettingsResolver) -> Iterator[Discovered]:
    """The files under the given paths, each once, and the paths that are none, in the order given.

    Args:
        paths: files and folders as the user wrote them.
        resolver: knows what the settings exclude.
    """
    walk = _Walk(resolver)
    everything = [item for path in paths for item in walk.named(path)]
    settled = walk.names.settled()
    for item in everything:
        final = settled.get(id(item), item)
        if final is not None:
            yield final


class _Names:
    """The names under which files were found. Only where two files have the same inode, or one is a link, is more looked up."""

    def __init__(self) -> None:
        self._roots: set[str] = set()
        self._links: list[FoundFile] = []
        self._inodes: dict[int, list[FoundFile]] = {}

    def add_root(self, folder: str) -> None:
        """A folder that the user named, or in which a file lies that they named."""
        self._roots.add(folder)

    def add(self, item: FoundFile, inode: int, is_link: bool) -> FoundFile:
        """A file that was found; `inode` is that of the file a link leads to."""
        self._inodes.setdefault(inode, []).append(item)
        if is_link:
            self._links.append(item)
        return item

    def settled(self) -> dict[int, FoundFile | None]:
        """What becomes of the items, by `id`, that do not stay as they are: None of a second name of a file."""
        settled: dict[int, FoundFile | None] = {}
        links = {id(link) for link in self._links}
        for alike in self._inodes.values():
            for names in _by_file(alike) if len(alike) > 1 else ():
                first = min(names, key=lambda one: id(one) in links)
                others = dict.fromkeys(os.fspath(one.path) for one in names if id(one) not in links)
                others.pop(os.fspath(first.path), None)
                explicit = any(one.explicit for one in names)
                settled |= {id(one): None for one in names}
                settled[id(first)] = first._replace(explicit=explicit, others=tuple(others))
        roots = [os.path.join(os.path.realpath(root), "") for root in self._roots] if links else []
        for link in self._links:
            final = settled.get(id(link), link)
            if final is not None and not os.path.realpath(link.path).startswith(tuple(roots)):
                settled[id(link)] = final._replace(leads_out=True)
        return settled


def _by_file(items: Iterable[FoundFile]) -> Iterable[list[FoundFile]]:
    """Items put together that are names of the same file."""
    files: dict[object, list[FoundFile]] = {}
    for item in items:
        path = os.fspath(item.path)
        try:
            status = os.stat(path)
            key: object = (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)
        except OSError:
            key = path  # gone meanwhile
        files.setdefault(key, []).append(item)
    return files.values()


class _Walk:
    def __init__(self, resolver: SettingsResolver) -> None:
        self._resolver = resolver
        self._cwd = os.getcwd()
        self.names = _Names()
        self._ignore_files = IgnoreFiles()

    def named(self, given: str) -> Iterator[Discovered]:
        """What a path of the command line stands for."""
        path = os.path.abspath(given)
        try:
            status = os.stat(path)
        except FileNotFoundError:
            yield Problem(given, "does not exist")
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            yield Problem(given, reason(error) if isinstance(error, OSError) else "is not a path")
        else:
            folder = stat.S_ISDIR(status.st_mode)
            root = path if folder else os.path.dirname(path)
            self.names.add_root(root)
            try:
                settings = self._resolver.for_folder(Path(root))
                if settings.excludes(path, folder):
                    yield Excluded(self._display(path))
                elif folder:
                    above = self._ignore_files.above(path) if settings.respect_gitignore else ()
                    # Whoever names a folder that git ignores means it.
                    yield from self._folder(path, () if is_ignored_by(path, above, folder=True) else above)
                else:
                    item = FoundFile(Path(path), self._display(path), settings, explicit=True)
                    yield self.names.add(item, status.st_ino, os.path.islink(path))
            except ConfigError as error:
                yield Problem("", str(error))
        yield from self._told()

    def _display(self, path: str) -> str:
        return "." if path == self._cwd else path.removeprefix(self._cwd.rstrip(os.sep) + os.sep)

    def _folder(self, folder: str, ignores: Ignores) -> Iterator[Discovered]:
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
            if not settings.respect_gitignore:
                ignores = ()
            elif any(entry.name == ".gitignore" for entry in entries):
                ignores += self._ignore_files.inside(folder)
        except OSError as error:
            yield Problem(self._display(folder), reason(error))
            return
        except ConfigError as error:
            yield Problem("", str(error))
            return
        yield from self._told()
        for entry in entries:
            yield from self._entry(entry, settings, ignores)

    def _entry(self, entry: os.DirEntry[str], settings: Settings, ignores: Ignores) -> Iterator[Discovered | _Folder]:
        folder = entry.is_dir(follow_symlinks=False)
        if folder and entry.name in DEFAULT_EXCLUDES or not folder and not settings.includes(entry.path, _SUFFIXES):
            return
        if is_ignored_by(entry.path, ignores, folder) or settings.excludes(entry.path, folder):
            return
        if folder:
            yield _Folder(entry.path, ignores)
            return
        try:
            regular = entry.is_file()  # False also for a link that leads nowhere: Emacs locks files so
            is_link = entry.is_symlink()
            inode = entry.stat().st_ino if is_link and regular else entry.inode()
        except OSError as error:
            yield Problem(self._display(entry.path), reason(error))
            return
        if regular:
            yield self.names.add(FoundFile(Path(entry.path), self._display(entry.path), settings), inode, is_link)

    def _told(self) -> Iterator[Passed]:
        """What was passed over since this was last asked."""
        passed, self._ignore_files.passed = self._ignore_files.passed, []
        yield from (Passed(self._display(path), why) for path, why in passed)
