"""Files of a run that neither the cache nor a look at their bytes settles: they wait to be parsed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amplint.diagnostics import FileReport
from amplint.engine.checker import matters
from amplint.engine.run_caches import RunCaches
from amplint.engine.tasks import Task, check_all
from amplint.system.reading import Stamp, read_file, stamp

if TYPE_CHECKING:
    from amplint.engine.cache import Cache
    from amplint.engine.discovery import FoundFile

FEW = 16
"""Up to so many files, reading them all costs less than opening the cache."""
MOST_WAITING = 16_000_000
"""When so many bytes of source wait, they are checked before more are read: a large run is not held in memory as a whole."""


class Pending(NamedTuple):
    """A file that must be parsed, its position in the run, and where its report is to be kept."""

    task: Task
    stat: os.stat_result | Stamp | None
    cache: Cache | None = None
    key: str = ""
    content: str = ""
    position: int = 0


def looked_up(item: FoundFile, caches: RunCaches, few: bool) -> FileReport | Pending:
    """What the cache or the bytes of a file say without parsing it.

    Args:
        item: the file.
        caches: those of the run.
        few: whether the run is on few files.

    Returns:
        The report; or, where the file must be parsed, what is to be done.
    """
    path = os.fspath(item.path)
    try:
        status = stamp(path)
        cache = None if few else caches.of(item.settings)
        key = cache.key(path, item.explicit) if cache else ""
        report = cache.by_stamp(key, item.display, status) if cache else None
        if report is not None:
            return report
        data = read_file(path)
    except OSError as error:
        return FileReport(item.display, error=f"cannot be read: {error.strerror or error}")
    worth_parsing = matters(data, item.settings)
    if not worth_parsing and not item.explicit:
        report = FileReport(item.display)
        if cache:
            cache.keep(key, status, "", report)
        return report
    task = Task(item.display, data, item.settings, item.path, item.explicit)
    if few and worth_parsing:
        cache = caches.of(item.settings)
        key = cache.key(path, item.explicit) if cache else ""
    if cache is None:
        return Pending(task, status)
    from amplint.engine.cache import digest

    content = digest(data)
    return cache.by_content(key, item.display, status, content) or Pending(task, status, cache, key, content)


def checked(waiting: Sequence[Pending], jobs: int) -> Iterator[tuple[int, FileReport]]:
    """The position in the run and the report of each file that waits, which the caches learn, too.

    Args:
        waiting: the files.
        jobs: the number of processes, as `amplint.engine.tasks.check_all` takes it.
    """
    for position, report in check_all([each.task for each in waiting], jobs):
        done = waiting[position]
        if done.cache is not None:
            done.cache.keep(done.key, done.stat, done.content, report)
        yield done.position, report
