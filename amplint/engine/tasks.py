"""Files that must be parsed, each checked here or in one of several processes."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.diagnostics import FileReport
from amplint.engine.checker import check_bytes, check_entered, resting_on
from amplint.engine.config import ConfigError, Settings
from amplint.engine.registry import RegistryError, load_rules
from amplint.model.records import NamedTuple
from amplint.system import limits

if TYPE_CHECKING:
    from amplint.model.caller_contexts import FromElsewhere

_POOL_WORK = 400_000
"""From so many bytes of source on that must be parsed, several processes repay the time they take to start."""


class Task(NamedTuple):
    """A file that must be parsed; `entered` is how other files enter its functions, if it is checked for that reason once more,
    and `before` what was found without. `awaited` is the fact without which it would not be parsed."""

    display: str
    data: bytes
    settings: Settings
    path: Path
    explicit: bool
    entered: tuple[FromElsewhere, ...] = ()
    before: FileReport | None = None
    awaited: str = ""


def check_all(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, FileReport]]:
    """The position and the report of each task, in the order in which they are done.

    Args:
        tasks: the files.
        jobs: the number of processes; 0: as many as there are processors to use, if there is work for them.
    """
    size = sum(len(task.data) for task in tasks)
    if jobs != 1 and len(tasks) > 1 and size >= _POOL_WORK:
        from amplint.engine.pool import Died, TimeLimit, run_all, worker_count

        workers = worker_count(jobs)
        if workers > 1:
            # The largest first: else one of them may run on alone at the end.
            order = sorted(range(len(tasks)), key=lambda position: -len(tasks[position].data))
            work = [tasks[position] for position in order]
            answers = run_all(_check_apart, work, workers, load_rules, TimeLimit(limits.STALLED), kin=_neighbourhood)
            for index, answer in answers:
                if isinstance(answer, Died):
                    answer = FileReport(work[index].display, error=f"the process that checked it died ({answer.how})")
                yield order[index], answer
            return
    for position, task in enumerate(tasks):
        yield position, check_one(task)


def _neighbourhood(task: Task) -> Path:
    """Files of one folder, and of those beside it, lean on the same modules: one process parses them once."""
    return task.path.parent.parent


def check_one(task: Task) -> FileReport:
    """The report on one file; a bug of amplint is its error.

    Raises:
        ConfigError: settings turn out to be of no use.
        RegistryError: a rule pack cannot be loaded.
    """
    try:
        with collector_paused():
            if task.before is not None:
                return check_entered(task.before, task.data, task.settings, task.path, task.entered)
            report = check_bytes(task.display, task.data, task.settings, task.path, task.explicit)
            return resting_on(report, task.awaited) if task.awaited else report
    except (ConfigError, RegistryError):
        raise  # no fault of the file: it would be the same for all
    except Exception as error:  # a bug of amplint: it costs this file, never the others
        from amplint.engine.linter import crash

        return FileReport(task.display, error=crash("internal error", error, task.display))


def _check_apart(task: Task) -> FileReport:
    try:
        return check_one(task)
    except (ConfigError, RegistryError) as error:  # cannot be raised across processes
        return FileReport(task.display, error=str(error))


@contextmanager
def collector_paused() -> Iterator[None]:
    """Do not look for cycles of garbage: trees are many small objects without any, and the search takes longer than they."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
