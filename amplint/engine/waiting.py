"""Files of a run that neither the cache nor a look at their bytes settles: they wait to be parsed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from amplint.diagnostics import FileReport
from amplint.engine.relevance import awaited, matters
from amplint.engine.run_caches import RunCaches
from amplint.engine.tasks import Task, check_all
from amplint.model.records import NamedTuple
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
    """What the cache or the bytes of a file say without parsing it; a file that waits for a fact has a report without findings.

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
        return _unread(item, error)
    worth_parsing = matters(data, item.settings)
    if not worth_parsing and not item.explicit:
        report = FileReport(item.display)
        if cache:
            cache.keep(key, status, "", report)
        return report
    # To find out what all others establish takes longer than to parse few files.
    fact = awaited(data, item.settings, path) if worth_parsing and not (few or item.explicit) else ""
    task = Task(item.display, data, item.settings, item.path, item.explicit)
    if few and worth_parsing:
        cache = caches.of(item.settings)
        key = cache.key(path, item.explicit) if cache else ""
    if cache is None:
        return FileReport(item.display, awaits=fact) if fact else Pending(task, status)
    from amplint.engine.stamps import digest

    content = digest(data)
    known = cache.by_content(key, item.display, status, content)
    if known is None and fact:
        known = FileReport(item.display, awaits=fact)
        cache.keep(key, status, content, known)
    return known or Pending(task, status, cache, key, content)


def to_parse(item: FoundFile, caches: RunCaches, position: int, fact: str) -> FileReport | Pending:
    """A file that has waited for a fact which is established now.

    Args:
        item: the file.
        caches: those of the run, which keep the new report in the place of that of the file that waits.
        position: that of the file in the run.
        fact: what it has waited for.

    Returns:
        What is to be done; or a report, where the file cannot be read any more.
    """
    path = os.fspath(item.path)
    try:
        status = stamp(path)
        data = read_file(path)
    except OSError as error:
        return _unread(item, error)
    task = Task(item.display, data, item.settings, item.path, item.explicit, awaited=fact)
    cache = caches.of(item.settings)
    if cache is None:
        return Pending(task, status, position=position)
    from amplint.engine.stamps import digest

    return Pending(task, status, cache, cache.key(path, item.explicit), digest(data), position)


def _unread(item: FoundFile, error: OSError) -> FileReport:
    return FileReport(item.display, error=f"cannot be read: {error.strerror or error}")


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
