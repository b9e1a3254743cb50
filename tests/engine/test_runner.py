"""Runs over many files: the order, what is settled without parsing, several processes, facts of the whole run."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import misbehaving_pack
import pytest
from program import AMPLINT, amplint, environment

from amplint.diagnostics import Diagnostic, FileReport
from amplint.engine.checker import check_bytes, check_source, withdraw
from amplint.engine.config import ConfigError, Settings
from amplint.engine.discovery import FoundFile
from amplint.engine.pool import Died, TimeLimit, run_all, worker_count
from amplint.engine.registry import rule_index
from amplint.engine.relevance import called_for, matters
from amplint.engine.runner import RunOptions, run
from amplint.engine.tasks import Task
from amplint.source import Source

UNCACHED = RunOptions(no_cache=True)
AMP = "import torch\nscaler = torch.amp.GradScaler('cuda')\n"
BROKEN = "x = (\n"


def files(folder: Path, *contents: str, explicit: bool = False) -> list[FoundFile]:
    """Files with these contents, as discovery gives them."""
    found = []
    for number, content in enumerate(contents):
        path = folder / f"file{number:03}.py"
        path.write_text(content)
        found.append(FoundFile(path, path.name, Settings(folder), explicit))
    return found


def codes(report: FileReport) -> list[str]:
    return [diagnostic.code for diagnostic in report.diagnostics]


# -- one file -----------------------------------------------------------------------------------------------------------


def check(content: str | bytes, explicit: bool = False, **settings: tuple[str, ...]) -> FileReport:
    data = content if isinstance(content, bytes) else content.encode()
    root = Path("/project")
    return check_bytes("shown.py", data, Settings(root, **settings), root / "shown.py", explicit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "looking"),
    [
        (b"x = scores.masked_fill(mask, -1e9)\n", {"AMP303"}),
        (b"x = scores.masked_fill(mask, 0.0)\n", set()),
        (b"with amp.scale_loss(loss, optimizer) as scaled:\n    scaled.backward()\n", {"AMP308"}),
    ],
)
def test_where_no_word_of_amp_stands_only_the_rules_look_that_the_text_triggers(text: bytes, looking: set[str]) -> None:
    assert {rule.code for rule in called_for(rule_index(), text)} == looking
    with_amp = b"from torch import autocast\n" + text
    assert called_for(rule_index(), with_amp) == list(rule_index())


def test_syntax_matters_where_amp_is_used_or_the_file_was_named() -> None:
    assert codes(check(BROKEN)) == []
    assert codes(check(BROKEN, explicit=True)) == ["AMP900"]
    assert codes(check(AMP + BROKEN)) == ["AMP900"]
    assert codes(check(AMP + BROKEN, ignore=("AMP900",))) == []


@pytest.mark.parametrize(
    ("cell", "worth"),
    [
        ('{"image/png": "scaledautocastGradScaler=="}', False),
        ('{"image/jpeg":"x.unscale_"}', False),
        ('{"source": "with torch.autocast(\\"cuda\\"):"}', True),
        # What a cell itself says of pictures stands in a string, with its quotes escaped.
        ('{"source": "{\\"image/png\\": \\"autocast\\"}"}', True),
        ('{"image/png": "AAAA"}, {"source": "autocast"}, {"image/png": "BBBB"}', True),
    ],
)
def test_no_word_is_looked_for_in_the_pictures_of_a_notebook(cell: str, worth: bool) -> None:
    assert matters(f'{{"cells": [{cell}]}}'.encode(), Settings(Path())) is worth


def test_unused_suppressions_are_found_in_files_without_amp() -> None:
    assert codes(check("x = 1  # noqa: AMP101\n")) == ["AMP901"]
    assert codes(check("x = 1  # amplint: ignore[AMP101]\n")) == ["AMP901"]
    assert codes(check("x = 1  # noqa: E501\n")) == []


def test_bytes_that_are_no_text_are_an_error() -> None:
    assert check(b"\n\nGradScaler = '\xff'\n").error == "cannot be decoded as utf-8: invalid start byte at byte 16"
    assert check(b"\n\nx = '\xff'\n").error == ""
    assert check(b"\n\nx = '\xff'\n", explicit=True).error != ""


def test_text_is_checked_like_its_bytes() -> None:
    content = AMP + "x = 1  # noqa: AMP101\n" + BROKEN
    settings = Settings(Path("/project"))
    source = Source.from_bytes("shown.py", content.encode())
    assert check_source(source, settings, Path("/project/shown.py")) == check(content)


def test_findings_without_the_facts_they_need_are_withdrawn() -> None:
    place = Source.from_bytes("f", b"x").range(0, 1)
    plain, needy = (Diagnostic("A", "a", "m", place, needs=frozenset(needs)) for needs in ([], ["one", "two"]))
    report = FileReport("f", (plain, needy))
    assert withdraw(report, frozenset(["one"])).diagnostics == (plain,)
    assert withdraw(report, frozenset(["one", "two", "three"])) == report


# -- many files -----------------------------------------------------------------------------------------------------------


def test_reports_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    found = files(tmp_path, *(BROKEN if number % 3 else AMP + BROKEN for number in range(40)))
    reports = list(run(found, UNCACHED))
    assert [report.path for report in reports] == [item.display for item in found]
    assert [codes(report) for report in reports] == [[] if number % 3 else ["AMP900"] for number in range(40)]


def test_progress_counts_every_file_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert len(list(run(files(tmp_path, *[AMP, "x\n", BROKEN] * 4), UNCACHED, lambda *now: seen.append(now)))) == 12
    assert seen == [(done, 12) for done in range(1, 13)]


def test_files_that_cannot_be_read_cost_only_themselves(tmp_path: Path) -> None:
    found = files(tmp_path, AMP + BROKEN, AMP, AMP + BROKEN)
    found[1].path.unlink()
    reports = list(run(found, UNCACHED))
    assert [report.error for report in reports] == ["", "cannot be read: No such file or directory", ""]
    assert [codes(report) for report in reports] == [["AMP900"], [], ["AMP900"]]


def test_settings_that_are_of_no_use_are_raised(tmp_path: Path) -> None:
    found = [
        FoundFile(item.path, item.display, Settings(tmp_path, select=("AMP9999",))) for item in files(tmp_path, AMP)
    ]
    with pytest.raises(ConfigError, match="unknown rule `AMP9999`"):
        list(run(found, UNCACHED))


def test_no_files() -> None:
    assert list(run([], RunOptions())) == []


def test_several_processes_say_what_one_says(tmp_path: Path) -> None:
    bulk = "# a line of some length, to make it worth while\n" * 4000
    found = files(tmp_path, *(f"{AMP}{bulk}x = {'(' * (number % 2)}1\n" for number in range(8)))
    alone, together = (list(run(found, RunOptions(jobs, no_cache=True))) for jobs in (1, 3))
    assert together == alone
    assert [codes(report) for report in alone] == [[], ["AMP900"]] * 4


def test_what_one_file_establishes_holds_for_all(tmp_path: Path) -> None:
    site = misbehaving_pack.install(tmp_path / "site")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("flags_here\n")
    (folder / "b.py").write_text("wonders_here\n")
    (folder / "c.py").write_text("flags_here\n")
    without = ["a.py:1:1: BAD006 Flagged", "c.py:1:1: BAD006 Flagged"]
    assert amplint(".", cwd=folder, site=site).stdout.splitlines() == without
    context = "import torch\nwith torch.autocast('cuda'):\n    pass\n"
    (folder / "d.py").write_text(context)
    reserve = "b.py:1:1: BAD007 Flagged with reserve"
    assert amplint(".", cwd=folder, site=site).stdout.splitlines() == [without[0], reserve, without[1]]
    # What the project establishes holds for each file of it, whichever are named.
    assert amplint("b.py", cwd=folder, site=site).stdout.splitlines() == [reserve]
    # Who trains without AMP itself has nothing to learn from others.
    (folder / "b.py").write_text("wonders_here\nloss.backward()\n")
    assert amplint(".", cwd=folder, site=site).stdout.splitlines() == without


LIBRARIES = {"libcst", "torch", "multiprocessing", "logging", "difflib", "tomllib"}
CACHING = {"platformdirs", "hashlib", "importlib.metadata"}


@pytest.mark.parametrize(
    ("content", "unwanted"),
    [
        ("import torch\n\nx = torch.ones(3)\n", LIBRARIES | CACHING),
        ("text = 'an amp, a scaler, an autocast'\n", LIBRARIES),
    ],
    ids=["settled by bytes", "settled by syntax"],
)
def test_a_clean_file_needs_no_heavy_module(tmp_path: Path, content: str, unwanted: set[str]) -> None:
    (tmp_path / "clean.py").write_text(content)
    command = [sys.executable, "-X", "importtime", *AMPLINT[1:], "clean.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0
    assert not unwanted & {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


# -- processes ----------------------------------------------------------------------------------------------------------


def _work(task: int) -> int:
    if task == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == 14:
        os._exit(7)
    if task == 99:
        time.sleep(600)
    return task * task


def prepared() -> None:
    """Nothing has to be imported for such work."""


@pytest.fixture(params=["forked", "spawned"])
def start(request: pytest.FixtureRequest) -> object:
    """Both ways in which processes are started: where a thread runs beside, they cannot be forked."""
    if request.param == "forked":
        if sys.platform != "linux" or threading.active_count() > 1:
            pytest.skip("no forks here")
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


def outcome(tasks: list[int], workers: int = 3) -> dict[int, int | Died]:
    answers = dict(run_all(_work, tasks, workers, prepared))
    assert sorted(answers) == list(range(len(tasks)))
    return {tasks[index]: answer for index, answer in answers.items()}


def test_every_task_gets_its_answer(start: None) -> None:
    assert outcome(list(range(12)), 4) == {task: task * task for task in range(12)}
    assert outcome([3], 4) == {3: 9}


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_process_that_dies_takes_one_task_with_it(start: None) -> None:
    answers = outcome([1, 13, 2, 14, 3, 4, 5])
    assert answers == {1: 1, 2: 4, 3: 9, 4: 16, 5: 25, 13: Died("SIGKILL"), 14: Died("exit code 7")}


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_all_processes_may_die(start: None) -> None:
    assert outcome([13, 13, 14]).keys() == {13, 14}


def test_a_process_that_takes_too_long_is_killed() -> None:
    if sys.platform != "linux" or threading.active_count() > 1:
        pytest.skip("no forks here, and a fresh process gets time to import")
    began = time.monotonic()
    answers = dict(run_all(_work, [1, 99, 2, 99, 3], 2, prepared, TimeLimit(1.0)))
    assert answers == {0: 1, 1: Died("no answer within 1 s"), 2: 4, 3: Died("no answer within 1 s"), 4: 9}
    assert time.monotonic() - began < 10


def _enough(predicate: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not predicate() and time.monotonic() < deadline:
        time.sleep(0.05)
    return predicate()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc")
def test_closing_ends_what_is_still_at_work(start: None) -> None:
    def children() -> set[str]:
        tasks = Path("/proc/self/task").iterdir()
        return {pid for task in tasks for pid in (task / "children").read_text().split()}

    before = children()
    with closing(run_all(_work, [2, 99, 99], 3, prepared)) as answers:  # type: ignore[type-var]
        assert next(answers) == (0, 4)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert _enough(lambda: not _busy(children() - before))


def _busy(pids: set[str]) -> set[str]:
    # Python's own tracker of shared resources may stay; it works on nothing.
    return {pid for pid in pids if b"tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()}


def test_the_number_of_processes() -> None:
    assert worker_count(5) == 5
    assert 1 <= worker_count(0) <= 32


def test_a_large_run_does_not_hold_all_files_that_are_to_be_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = files(tmp_path, *[f"{AMP}x = {number}\n" for number in range(12)])
    options = RunOptions(jobs=1, no_cache=True)
    together = list(run(found, options))
    waiting: list[int] = []

    def note(_: int, __: int) -> None:
        waiting.append(sum(type(each) is Task for each in gc.get_objects()))

    monkeypatch.setattr("amplint.engine.runner.MOST_WAITING", 3 * len(found[0].path.read_bytes()))
    assert list(run(found, options, note)) == together
    assert len(waiting) == 12
    assert max(waiting) <= 4
