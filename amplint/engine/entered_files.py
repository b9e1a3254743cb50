"""The files of a run whose functions other files enter are checked again, as they are entered."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amplint.diagnostics import FileReport
from amplint.engine.run_caches import RunCaches
from amplint.engine.tasks import Task, collector_paused
from amplint.engine.waiting import Pending, checked

if TYPE_CHECKING:
    from amplint.engine.caller_rounds import EnteredFile
    from amplint.engine.discovery import FoundFile
    from amplint.engine.run_imports import RunImports


def enter(
    found: Sequence[FoundFile],
    reports: list[FileReport],
    jobs: int,
    caches: RunCaches,
    imports: RunImports,
    text: bytes | None = None,
) -> None:
    """Check again, in place, the files whose functions other files enter.

    Args:
        found: the files.
        reports: those on all of them.
        jobs: the number of processes, as `amplint.engine.tasks.check_all` takes it.
        caches: those of the run.
        imports: those between the files.
        text: the content of the first, if it is given: then nobody asks where the findings of the others have their halves.
    """
    if not any(report.gives for report in reports):
        return
    from amplint.engine.caller_rounds import CallerRounds

    rounds = CallerRounds(found, imports, text)
    try:
        while True:
            with collector_paused():
                due = rounds.due(reports)
                gc.freeze()  # what was read is kept to the end: no collection need look at it
            if not due:
                return
            for position, report in _reports_entered(found, reports, due, jobs, caches, text is not None):
                reports[position] = report
    finally:
        gc.unfreeze()


def _reports_entered(
    found: Sequence[FoundFile],
    reports: Sequence[FileReport],
    due: Iterable[EnteredFile],
    jobs: int,
    caches: RunCaches,
    only_first: bool,
) -> Iterator[tuple[int, FileReport]]:
    """The reports on files that are checked as other files enter them; of those behind the first, it may be only what they
    give on that is asked for."""
    pending: list[Pending] = []
    for one in due:
        item, before = found[one.position], reports[one.position]
        task = Task(item.display, one.data, item.settings, item.path, item.explicit, one.contexts, before)
        cache = caches.of(item.settings)
        if cache is None:
            pending.append(Pending(task, None, position=one.position))
            continue
        from amplint.engine.stamps import digest

        path, content = os.fspath(item.path), digest(one.data)
        key = cache.entered_key(path, one.contexts)
        keys = [key, *(cache.alike_keys(path, one.contexts) if only_first and one.position else ())]
        found_there = (cache.by_content(each, item.display, None, content) for each in keys)
        known = next((report for report in found_there if report is not None), None)
        if known is not None:
            yield one.position, replace(known, entered=one.contexts)
        else:
            pending.append(Pending(task, None, cache, key, content, one.position))
    yield from checked(pending, jobs)
    caches.save()
