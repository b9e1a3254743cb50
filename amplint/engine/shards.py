"""A run in several parts, each of which says of its files what the whole run would say of them.

Files that imports lead between decide on each other's findings, and stay together; so the parts do no work twice. Which part a
file belongs to follows from its name, or from the names of those that it stays with, whatever the machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from amplint.engine.discovery import FoundFile
from amplint.engine.relevance import is_concerned, matters
from amplint.model.records import NamedTuple
from amplint.source import is_notebook
from amplint.system.reading import read_file


class Shard(NamedTuple):
    """Which of several parts: `number` counts from 1 up to `of`."""

    number: int
    of: int


class RunPart(NamedTuple):
    """The files of a part; files of no part that bear on them; and those that do not, and yet tell what holds for the project."""

    own: list[FoundFile]
    others: list[FoundFile]
    apart: list[FoundFile]


def part_of(shard: Shard, files: Sequence[FoundFile], others: Sequence[FoundFile]) -> RunPart:
    """One part of a run.

    Args:
        shard: which one.
        files: all files of the run.
        others: files beside them that bear on what is found in them.
    """
    names = {item.path: item.display.replace(os.sep, "/") for item in (*files, *others)}
    homes: dict[Path, int] = {}
    loads = [0] * shard.of
    groups = [sorted(group, key=lambda path: names[path]) for group in _together(files, others)]
    for group in sorted(groups, key=lambda group: (-len(group), names[group[0]])):
        lightest = loads.index(min(loads))
        loads[lightest] += len(group)
        homes.update(dict.fromkeys(group, lightest))
    for path in names.keys() - homes.keys():
        homes[path] = crc32(names[path].encode("utf-8", "backslashreplace")) % shard.of

    def parted(items: Sequence[FoundFile]) -> tuple[list[FoundFile], list[FoundFile]]:
        own = [item for item in items if homes[item.path] == shard.number - 1]
        return own, [item for item in items if homes[item.path] != shard.number - 1]

    own, apart = parted(files)
    near, far = parted(others)
    return RunPart(own, near, [*apart, *far])


def _together(files: Sequence[FoundFile], others: Sequence[FoundFile]) -> list[frozenset[Path]]:
    """The files that bear on each other's findings, group by group."""
    asking = [item.path for item in files if _asks(item)]
    if not asking:
        return []
    from amplint.callgraph.import_graph import ImportGraph

    everything = [item for item in (*files, *others) if not is_notebook(item.display)]
    root = os.path.commonpath([item.settings.root for item in everything])
    graph = ImportGraph((item.path for item in everything), Path(root))
    groups: list[frozenset[Path]] = []
    seen: set[Path] = set()
    for path in asking:
        if path not in seen:
            groups.append(graph.connected(path))
            seen |= groups[-1]
    return [group for group in groups if len(group) > 1]


def _asks(item: FoundFile) -> bool:
    """Whether other files may make a difference to what is found in a file."""
    if is_notebook(item.display):
        return False
    try:
        data = read_file(item.path)
    except OSError:
        return False
    return matters(data, item.settings) or is_concerned(data, item.settings, item.path)
