"""Many files: most are settled by a look at their bytes or by the cache, the rest is linted, here or in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.diagnostics import FileReport
from amplint.engine.checker import withdraw
from amplint.engine.entered_files import enter
from amplint.engine.established import Established
from amplint.engine.relevance import matters
from amplint.engine.run_caches import RunCaches
from amplint.engine.run_imports import RunImports
from amplint.engine.shared_defects import defects_told_once
from amplint.engine.tasks import Task, check_one
from amplint.engine.waiting import FEW, MOST_WAITING, Pending, checked, looked_up, to_parse
from amplint.model.records import NamedTuple

if TYPE_CHECKING:
    from amplint.engine.cache import Cache
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
    project_of: Callable[[FoundFile], Hashable] = lambda item: None,
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
        project_of: tells files of one project from those of others.

    Raises:
        ConfigError: settings turn out to be of no use.
        RegistryError: a rule pack cannot be loaded.
    """
    everything, caches = [*found, *others], RunCaches(options.cache_dir, options.no_cache)
    reports = list(_in_order(_reports(everything, options, caches, on_note), len(everything), on_progress))
    imports = RunImports(everything, project)
    enter(everything, reports, options.jobs, caches, imports)
    facts = Established(reports, [*map(project_of, everything)])
    due = _no_longer_waiting(reports[: len(found)], facts, options, project)
    for position, report in _parsed(found, reports, due, options, caches):
        reports[position] = report
    _complete(facts, reports, options, project)
    yield from defects_told_once(
        [
            withdraw(report, facts.of(position), imports.around(found[position].path))
            for position, report in enumerate(reports[: len(found)])
        ]
    )


def _no_longer_waiting(
    reports: Sequence[FileReport], facts: Established, options: RunOptions, project: Callable[[], Sequence[FoundFile]]
) -> list[int]:
    """The files that waited for a fact of their project to be parsed, where that is established."""
    waiting = [position for position, report in enumerate(reports) if report.awaits]
    missing = frozenset(reports[each].awaits for each in waiting if reports[each].awaits not in facts.of(each))
    beside = project() if missing else ()
    if beside and len(waiting) <= FEW:
        return waiting
    if beside:
        facts.add(establish(beside, options, missing))
    return [each for each in waiting if reports[each].awaits in facts.of(each)]


def _parsed(
    found: Sequence[FoundFile],
    reports: Sequence[FileReport],
    positions: Iterable[int],
    options: RunOptions,
    caches: RunCaches,
) -> Iterator[tuple[int, FileReport]]:
    """The reports on files that have waited."""
    pending: list[Pending] = []
    for position in positions:
        seen = to_parse(found[position], caches, position, reports[position].awaits)
        if isinstance(seen, FileReport):
            yield position, seen
        else:
            pending.append(seen)
    yield from checked(pending, options.jobs)
    caches.save()


def _complete(
    facts: Established,
    reports: Sequence[FileReport],
    options: RunOptions,
    project: Callable[[], Sequence[FoundFile]],
) -> None:
    """Add what the other files of the project establish, as far as findings need it."""
    wanted = facts.missing(reports)
    if wanted:
        facts.add(establish(project(), options, wanted))


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
    imports = RunImports([item, *others], project)
    enter([item, *others], reports, options.jobs, caches, imports, data)
    facts = Established(reports)
    _complete(facts, reports, options, project)
    return withdraw(reports[0], facts.of(0), imports.around(item.path))


def _known_or_checked(task: Task, cache: Cache) -> FileReport:
    from amplint.engine.stamps import digest

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
