"""Many files: most are settled by a look at their bytes or by the cache, the rest is linted, here or in several processes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from amplint.diagnostics import FileReport
from amplint.engine.checker import matters, withdraw
from amplint.engine.run_caches import RunCaches
from amplint.engine.tasks import Task, check_one, collector_paused
from amplint.engine.waiting import FEW, MOST_WAITING, Pending, checked, looked_up

if TYPE_CHECKING:
    from amplint.engine.cache import Cache
    from amplint.engine.caller_rounds import EnteredFile
    from amplint.engine.discovery import FoundFile


class RunOptions(NamedTuple):
    """How a run goes about it.

    `jobs` is the number of processes (0: as many as there are processors to use, if there is work for them). The cache
    lies in `cache_dir`, without one where `amplint.engine.cache_storage` says.
    """

    jobs: int = 0
    cache_dir: Path | None = None
    no_cache: bool = False


def run(
    found: Sequence[FoundFile],
    options: RunOptions,
    on_progress: Callable[[int, int], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    others: Sequence[FoundFile] = (),
    project: Callable[[], Sequence[FoundFile]] = tuple,
) -> Iterator[FileReport]:
    """Check files; yields one report for each, in their order.

    A file that cannot be read, and one on which a rule or a whole process dies, has a report with an error; the others are
    checked all the same. Findings that need a fact of the whole project are withdrawn when no file establishes it.

    Args:
        found: the files, each with its settings.
        options: how to go about it.
        on_progress: called with the number of files done and of all files, whenever one is done.
        on_note: called with a line that says why nothing could be cached.
        others: files that are not part of the run, but tell how the functions of those that are may be called.
        project: gives the files that may establish facts besides, if any are wanted.

    Raises:
        ConfigError: settings turn out to be of no use.
        RegistryError: a rule pack cannot be loaded.
    """
    everything, caches = [*found, *others], RunCaches(options.cache_dir, options.no_cache)
    reports = list(_in_order(_reports(everything, options, caches, on_note), len(everything), on_progress))
    _enter(everything, reports, options, caches)
    facts = _facts(reports, options, project)
    for report in reports[: len(found)]:
        yield withdraw(report, facts)


def _facts(
    reports: Sequence[FileReport], options: RunOptions, project: Callable[[], Sequence[FoundFile]]
) -> frozenset[str]:
    """What the files of a run establish, and those of the project as far as findings need it."""
    facts = frozenset(fact for report in reports for fact in report.facts)
    wanted = frozenset(fact for report in reports for each in report.diagnostics for fact in each.needs) - facts
    return facts | establish(project(), options, wanted) if wanted else facts


def _enter(
    found: Sequence[FoundFile],
    reports: list[FileReport],
    options: RunOptions,
    caches: RunCaches,
    text: bytes | None = None,
) -> None:
    """Check again, in place, the files whose functions other files enter.

    `text` is the content of the first, if it is given: then nobody asks where the findings of the others have their halves.
    """
    if not any(report.gives for report in reports):
        return
    from amplint.engine.caller_rounds import CallerRounds

    rounds = CallerRounds(found, text)
    try:
        while True:
            with collector_paused():
                due = rounds.due(reports)
                gc.freeze()  # what was read is kept to the end: no collection need look at it
            if not due:
                return
            for position, report in _reports_entered(found, reports, due, options, caches, text is not None):
                reports[position] = report
    finally:
        gc.unfreeze()


def check_text(
    item: FoundFile,
    data: bytes,
    options: RunOptions,
    on_note: Callable[[str], None] | None = None,
    others: Sequence[FoundFile] = (),
    project: Callable[[], Sequence[FoundFile]] = tuple,
) -> FileReport:
    """The report on a file as an editor holds it, whatever lies on the disk; from the cache where that knows the text.

    Args:
        item: the file.
        data: its content.
        options: how to go about it.
        on_note: called with a line that says why nothing could be cached.
        others: further files of the project, which tell how the functions of this one may be called.
        project: gives the files that may establish facts besides, if any are wanted.

    Returns:
        The report, without the findings that need facts which no file establishes.

    Raises:
        ConfigError: settings turn out to be of no use.
        RegistryError: a rule pack cannot be loaded.
    """
    task = Task(item.display, data, item.settings, item.path, item.explicit)
    caches = RunCaches(options.cache_dir, options.no_cache)
    cache = caches.of(item.settings) if matters(data, item.settings) else None
    report = check_one(task) if cache is None else _known_or_checked(task, cache)
    for problem in caches.save():
        if on_note is not None:
            on_note(problem)
    reports = [report, *_in_order(_reports(others, options, caches), len(others), None)]
    _enter([item, *others], reports, options, caches, data)
    return withdraw(reports[0], _facts(reports, options, project))


def _known_or_checked(task: Task, cache: Cache) -> FileReport:
    from amplint.engine.cache import digest

    path, content = os.fspath(task.path), digest(task.data)
    # What matters is checked in the same way whoever names it: a run on the whole project knows it, too.
    for key in (cache.key(path, explicit=False), edited := cache.edited_key(path)):
        report = cache.by_content(key, task.display, None, content)
        if report is not None:
            return report
    with cache.explorations():
        report = check_one(task)
    cache.keep(edited, None, content, report)
    return report


def establish(found: Sequence[FoundFile], options: RunOptions, wanted: frozenset[str]) -> frozenset[str]:
    """The facts that the files of a run establish; stops looking when all that are wanted are.

    Args:
        found: the files, each with its settings.
        options: how to go about it.
        wanted: the facts that are asked for; looking stops when all of them are established.
    """
    facts: frozenset[str] = frozenset()
    with closing(_reports(found, options, RunCaches(options.cache_dir, options.no_cache))) as reports:
        for _, report in reports:
            facts |= report.facts
            if wanted <= facts:
                break
    return facts


def _in_order(
    reports: Iterable[tuple[int, FileReport]], total: int, on_progress: Callable[[int, int], None] | None
) -> Iterator[FileReport]:
    early: dict[int, FileReport] = {}
    following = 0
    for done, (index, report) in enumerate(reports, 1):
        early[index] = report
        if on_progress is not None:
            on_progress(done, total)
        while following in early:
            yield early.pop(following)
            following += 1


def _reports(
    found: Sequence[FoundFile],
    options: RunOptions,
    caches: RunCaches,
    on_note: Callable[[str], None] | None = None,
) -> Generator[tuple[int, FileReport], None, None]:
    waiting: list[Pending] = []
    size = 0
    try:
        for index, item in enumerate(found):
            seen = looked_up(item, caches, few=len(found) <= FEW)
            if isinstance(seen, FileReport):
                yield index, seen
                continue
            waiting.append(seen._replace(position=index))
            size += len(seen.task.data)
            if size >= MOST_WAITING:
                yield from checked(waiting, options.jobs)
                waiting, size = [], 0
        yield from checked(waiting, options.jobs)
    finally:
        for problem in caches.save():
            if on_note is not None:
                on_note(problem)


def _reports_entered(
    found: Sequence[FoundFile],
    reports: Sequence[FileReport],
    due: Iterable[EnteredFile],
    options: RunOptions,
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
        from amplint.engine.cache import digest

        path, content = os.fspath(item.path), digest(one.data)
        key = cache.entered_key(path, one.contexts)
        keys = [key, *(cache.alike_keys(path, one.contexts) if only_first and one.position else ())]
        found_there = (cache.by_content(each, item.display, None, content) for each in keys)
        known = next((report for report in found_there if report is not None), None)
        if known is not None:
            yield one.position, replace(known, entered=one.contexts)
        else:
            pending.append(Pending(task, None, cache, key, content, one.position))
    yield from checked(pending, options.jobs)
    caches.save()
