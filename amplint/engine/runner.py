"""Many files: most are settled by a look at their bytes or by the cache, the rest is linted, here or in several processes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from amplint.diagnostics import FileReport
from amplint.engine.checker import check_bytes, check_entered, matters, withdraw
from amplint.engine.config import ConfigError, Settings
from amplint.engine.registry import RegistryError, load_rules
from amplint.system import limits
from amplint.system.reading import read_file

if TYPE_CHECKING:
    from amplint.engine.cache import Cache
    from amplint.engine.caller_rounds import EnteredFile
    from amplint.engine.discovery import FoundFile
    from amplint.model.caller_contexts import CallerContext

_FEW = 16
"""Up to so many files, reading them all costs less than opening the cache."""
_POOL_WORK = 400_000
"""From so many bytes of source on that must be parsed, several processes repay the time they take to start."""


class RunOptions(NamedTuple):
    """How a run goes about it.

    `jobs` is the number of processes (0: as many as there are processors to use, if there is work for them). The cache
    lies in `cache_dir`, without one where `amplint.engine.cache_storage` says.
    """

    jobs: int = 0
    cache_dir: Path | None = None
    no_cache: bool = False


class _Task(NamedTuple):
    """A file that must be parsed."""

    display: str
    data: bytes
    settings: Settings
    path: Path
    explicit: bool
    entered: tuple[CallerContext, ...] = ()


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
    everything = [*found, *others]
    reports = list(_in_order(_reports(everything, options, on_note), len(everything), on_progress))
    _enter(everything, reports, options)
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
    found: Sequence[FoundFile], reports: list[FileReport], options: RunOptions, text: bytes | None = None
) -> None:
    """Check again, in place, the files whose functions other files enter; `text` is the content of the first, if it is given."""
    if not any(report.gives for report in reports):
        return
    from amplint.engine.caller_rounds import CallerRounds

    rounds = CallerRounds(found, text)
    while due := rounds.due(reports):
        for position, report in _reports_entered(found, due, options):
            reports[position] = report


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
    task = _Task(item.display, data, item.settings, item.path, item.explicit)
    caches = _Caches(options)
    cache = caches.of(item.settings) if matters(data, item.settings) else None
    report = _check(task) if cache is None else _known_or_checked(task, cache)
    for problem in caches.save():
        if on_note is not None:
            on_note(problem)
    reports = [report, *_in_order(_reports(others, options), len(others), None)]
    _enter([item, *others], reports, options, data)
    return withdraw(reports[0], _facts(reports, options, project))


def _known_or_checked(task: _Task, cache: Cache) -> FileReport:
    from amplint.engine.cache import digest

    path, content = os.fspath(task.path), digest(task.data)
    # What matters is checked in the same way whoever names it: a run on the whole project knows it, too.
    for key in (cache.key(path, explicit=False), edited := cache.edited_key(path)):
        report = cache.by_content(key, task.display, None, content)
        if report is not None:
            return report
    report = _check(task)
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
    with closing(_reports(found, options)) as reports:
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
    found: Sequence[FoundFile], options: RunOptions, on_note: Callable[[str], None] | None = None
) -> Generator[tuple[int, FileReport], None, None]:
    caches = _Caches(options)
    tasks: list[_Pending] = []
    try:
        for index, item in enumerate(found):
            seen = _look(item, caches, few=len(found) <= _FEW)
            if isinstance(seen, FileReport):
                yield index, seen
            else:
                tasks.append(seen._replace(position=index))
        for pending, report in _lint(tasks, options.jobs):
            if pending.cache is not None:
                pending.cache.keep(pending.key, pending.stat, pending.content, report)
            yield pending.position, report
    finally:
        for problem in caches.save():
            if on_note is not None:
                on_note(problem)


def _reports_entered(
    found: Sequence[FoundFile], due: Iterable[EnteredFile], options: RunOptions
) -> Iterator[tuple[int, FileReport]]:
    """The reports on files that are checked as other files enter them."""
    caches = _Caches(options)
    pending: list[_Pending] = []
    for one in due:
        item = found[one.position]
        task = _Task(item.display, one.data, item.settings, item.path, item.explicit, one.contexts)
        cache = caches.of(item.settings)
        if cache is None:
            pending.append(_Pending(task, None, position=one.position))
            continue
        from amplint.engine.cache import digest

        key, content = cache.entered_key(os.fspath(item.path), one.contexts), digest(one.data)
        known = cache.by_content(key, item.display, None, content)
        if known is not None:
            yield one.position, replace(known, entered=one.contexts)
        else:
            pending.append(_Pending(task, None, cache, key, content, one.position))
    for done, report in _lint(pending, options.jobs):
        if done.cache is not None:
            done.cache.keep(done.key, None, done.content, report)
        yield done.position, report
    caches.save()


class _Pending(NamedTuple):
    """A file that must be parsed, its position in the run, and where its report is to be kept."""

    task: _Task
    stat: os.stat_result | None
    cache: Cache | None = None
    key: str = ""
    content: str = ""
    position: int = 0


def _look(item: FoundFile, caches: _Caches, few: bool) -> FileReport | _Pending:
    """What the cache or the bytes of a file say without parsing it."""
    path = os.fspath(item.path)
    try:
        status = os.stat(path)
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
    task = _Task(item.display, data, item.settings, item.path, item.explicit)
    if few and worth_parsing:
        cache = caches.of(item.settings)
        key = cache.key(path, item.explicit) if cache else ""
    if cache is None:
        return _Pending(task, status)
    from amplint.engine.cache import digest

    content = digest(data)
    return cache.by_content(key, item.display, status, content) or _Pending(task, status, cache, key, content)


class _Caches:
    """The caches of a run, one for each settings, opened when first asked for."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._open: dict[Settings, Cache | None] = {}
        self._problems: list[str] = []

    def of(self, settings: Settings) -> Cache | None:
        if self._options.no_cache:
            return None
        if settings not in self._open:
            from amplint.engine.cache import Cache

            try:
                self._open[settings] = Cache(settings, self._options.cache_dir)
            except OSError as error:
                self._open[settings] = None
                self._problems.append(_nothing_cached(error))
        return self._open[settings]

    def save(self) -> list[str]:
        """Write what is new; says why that failed, where it did."""
        for cache in filter(None, self._open.values()):
            try:
                cache.save()
            except OSError as error:
                self._problems.append(_nothing_cached(error))
        return list(dict.fromkeys(self._problems))


def _nothing_cached(error: OSError) -> str:
    why = f"{error.filename}: {error.strerror}" if error.strerror and error.filename else str(error)
    return f"Nothing was cached: {why}"


def _lint(pending: list[_Pending], jobs: int) -> Iterator[tuple[_Pending, FileReport]]:
    size = sum(len(one.task.data) for one in pending)
    if jobs != 1 and len(pending) > 1 and size >= _POOL_WORK:
        from amplint.engine.pool import Died, run_all, worker_count

        workers = worker_count(jobs)
        if workers > 1:
            # The largest first: else one of them may run on alone at the end.
            pending = sorted(pending, key=lambda one: -len(one.task.data))
            work = [one.task for one in pending]
            answers = run_all(_check_apart, work, workers, load_rules, limits.STALLED, kin=_neighbourhood)
            for index, answer in answers:
                one = pending[index]
                if isinstance(answer, Died):
                    answer = FileReport(one.task.display, error=f"the process that checked it died ({answer.how})")
                yield one, answer
            return
    for one in pending:
        yield one, _check(one.task)


def _neighbourhood(task: _Task) -> Path:
    """Files of one folder, and of those beside it, lean on the same modules: one process parses them once."""
    return task.path.parent.parent


def _check(task: _Task) -> FileReport:
    try:
        with _collector_paused():
            if task.entered:
                return check_entered(task.display, task.data, task.settings, task.path, task.entered)
            return check_bytes(task.display, task.data, task.settings, task.path, task.explicit)
    except (ConfigError, RegistryError):
        raise  # no fault of the file: it would be the same for all
    except Exception as error:  # a bug of amplint: it costs this file, never the others
        from amplint.engine.linter import crash

        return FileReport(task.display, error=crash("internal error", error, task.display))


def _check_apart(task: _Task) -> FileReport:
    try:
        return _check(task)
    except (ConfigError, RegistryError) as error:  # cannot be raised across processes
        return FileReport(task.display, error=str(error))


@contextmanager
def _collector_paused() -> Iterator[None]:
    # A tree is many small objects without cycles: looking for cycles in it takes a tenth of the time, for nothing.
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
