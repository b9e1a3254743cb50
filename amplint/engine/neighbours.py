"""The files of a project that are led to together with those of a run: what they do to these, only they can tell.

A run on one changed file is to say what a run on everything says, so that the callers of its functions are looked at, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path

from amplint.engine.config import SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.project_folders import marked_above, project_around
from amplint.engine.relevance import is_concerned
from amplint.source import is_notebook
from amplint.system.reading import read_file

_MOST_FILES = 20_000
"""In a folder that holds more, only a run on all of it looks for callers."""


def neighbours(
    found: Sequence[FoundFile], named: Iterable[str], resolver: SettingsResolver, text: bytes | None = None
) -> list[FoundFile]:
    """The other files of the projects that decide on what is found in those of a run.

    Args:
        found: the files of the run.
        named: the paths that the user gave: below a folder, every file is in the run anyway.
        resolver: knows the settings of each file.
        text: the content of the only file, where it does not come from the disk.
    """
    apart = _apart(found, named)
    asking: dict[Path, list[Path]] = {}
    for item in found:
        root = _root(item)
        if root in apart and _is_concerned(item, text):
            asking.setdefault(root, []).append(item.path)
    if not asking:
        return []
    from amplint.callgraph.import_graph import ImportGraph

    known = {item.path for item in found}
    others: dict[Path, FoundFile] = {}
    for root, paths in asking.items():
        files = {item.path: item for item in _files(root, resolver)}
        graph = ImportGraph(files.keys() | set(paths), root)
        family = frozenset[Path]().union(*map(graph.family, paths))
        others.update((path, item) for path, item in files.items() if path in family and path not in known)
    return list(others.values())


def project_files(found: Sequence[FoundFile], named: Iterable[str], resolver: SettingsResolver) -> list[FoundFile]:
    """All files of the projects that the files of a run belong to, but for those below folders that the user named.

    Args:
        found: the files of the run.
        named: the paths that the user gave.
        resolver: knows the settings of each file.
    """
    return [item for root in sorted(_apart(found, named)) for item in _files(root, resolver)]


def _apart(found: Sequence[FoundFile], named: Iterable[str]) -> set[Path]:
    """The projects of files that lie in no folder which the user named."""
    folders = {Path(os.path.abspath(path)) for path in named}
    return {root for root in {*map(_root, found)} if folders.isdisjoint((root, *root.parents))}


def project_of(named: Iterable[str]) -> Callable[[FoundFile], Path]:
    """What tells the project of a file: a folder around the path that the user gave, or that path.

    Folders in one repository, below one file of settings, or below the current folder, are of one project.

    Args:
        named: the paths that the user gave.
    """
    folders = {Path(os.path.abspath(path)) for path in named}

    @cache
    def around(folder: Path) -> Path:
        root = project_around(next((each for each in (folder, *folder.parents) if each in folders), folder))
        here = Path.cwd()
        return here if here in root.parents and marked_above(root) is None else root

    def project(item: FoundFile) -> Path:
        root, settings = around(item.path.parent), item.settings
        return settings.root if settings.origin and settings.root in root.parents else root

    return project


def _is_concerned(item: FoundFile, text: bytes | None) -> bool:
    if is_notebook(item.display):
        return False
    try:
        return is_concerned(read_file(item.path) if text is None else text, item.settings, item.path)
    except OSError:
        return False


def _root(item: FoundFile) -> Path:
    """The folder of the project that a file belongs to: that of its settings, or what looks like one."""
    return item.settings.root if item.settings.origin else project_around(item.path.parent)


@lru_cache(maxsize=4)
def _files(root: Path, resolver: SettingsResolver) -> tuple[FoundFile, ...]:
    found = (item for item in discover([str(root)], resolver) if isinstance(item, FoundFile))
    files = tuple(islice(found, _MOST_FILES + 1))
    return files if len(files) <= _MOST_FILES else ()
