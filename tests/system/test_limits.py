"""No file stalls a run: what takes too long or too much is given up on in one line, and the others are checked."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import misbehaving_pack
import pytest
from program import AMPLINT, environment, problems

from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.source import Source
from amplint.system import limits

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of POSIX")

BULK = "# a line that makes the file worth a process of its own\n" * 5000
RUN = "from amplint.system import limits\nlimits.SECONDS, limits.MEMORY = {limits}\nfrom amplint.cli.main import main\nmain()"
COST = """\
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime, used.ru_maxrss)
"""
"""Runs a command, and says its exit code, its seconds and the kilobytes that it took: of this child alone."""
AMP = "import torch\n\nscaler = torch.amp.GradScaler('cuda')\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return misbehaving_pack.install(tmp_path_factory.mktemp("site"))


def run(
    folder: Path, site: Path, *arguments: str, seconds: float = 30.0, memory: int = 900_000_000
) -> subprocess.CompletedProcess[str]:
    """`amplint` with lower limits, in a process of its own."""
    script = RUN.format(limits=(seconds, memory))
    return subprocess.run(
        [sys.executable, "-c", script, "check", *arguments],
        cwd=folder, env=environment(site), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("bulk", ["", BULK], ids=["alone", "in processes"])
@pytest.mark.parametrize(("word", "what"), [("spins", "0.4 s"), ("grows", "0.2 GB of memory")])
def test_what_costs_too_much_is_given_up_on(tmp_path: Path, site: Path, bulk: str, word: str, what: str) -> None:
    (tmp_path / "costly.py").write_text(f"{word}_here\nflags_here\n{bulk}")
    (tmp_path / "plain.py").write_text(f"flags_here\n{bulk}")
    seconds, memory = (0.4, 900_000_000) if word == "spins" else (30.0, 200_000_000)
    for jobs in ("1", "2"):
        done = run(tmp_path, site, ".", "-j", jobs, seconds=seconds, memory=memory)
        assert problems(done) == [f"costly.py: took more than {what}; not checked"]
        assert done.stdout.splitlines() == ["plain.py:1:1: BAD006 Flagged"]
        assert done.returncode == 2


def test_a_file_that_is_fixed_costs_no_more(tmp_path: Path, site: Path) -> None:
    (tmp_path / "costly.py").write_text("spins_here\n")
    done = run(tmp_path, site, "--fix", "costly.py", seconds=0.4)
    assert (problems(done), done.returncode) == (["costly.py: took more than 0.4 s; not checked"], 2)


def test_what_is_given_up_on_is_not_cached(tmp_path: Path, site: Path) -> None:
    (tmp_path / "costly.py").write_text("spins_here\n")
    for _ in range(2):
        assert run(tmp_path, site, ".", seconds=0.4).returncode == 2


def lint(text: str) -> str:
    return lint_source(Source("file.py", text), load_rules()).error


def test_a_text_that_no_parser_should_get_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lint(AMP + "x = 1\n" * 400_000) == "too long to be checked"
    assert lint(AMP + f"x = '{'a' * 3_000_000}'\n") == ""
    monkeypatch.setattr(limits, "RELEVANT_WORDS", 300)
    assert lint(AMP + "scaler = 1\n" * 400) == "too long to be checked"


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told in other units")
@pytest.mark.parametrize(
    ("row", "error"),
    [
        (f"{'a' * 200_000}.step(o); o.step()", "too long to be checked"),
        (f"o.{'bf16_' * 40_000}(); o.step()", "too long to be checked"),
        (f"'{'a' * 200_000}'; o.step()", ""),
        (f"# {'a' * 200_000}", ""),
    ],
    ids=["name", "attribute", "string", "comment"],
)
def test_a_long_word_takes_little_time(tmp_path: Path, site: Path, row: str, error: str) -> None:
    # What searches text and names does so in native code, which nothing interrupts.
    (tmp_path / "long.py").write_text(f"{AMP}def train(o):\n    {row}\n    o.step()\n")
    began = time.monotonic()
    done = run(tmp_path, site, "--select", "ALL", "long.py")
    assert (problems(done), done.returncode) == ([f"long.py: {error}"], 2) if error else ([], 0)
    assert time.monotonic() - began < 30


def test_a_million_lines_take_less_than_a_gigabyte(tmp_path: Path, site: Path) -> None:
    (tmp_path / "long.py").write_text(AMP + "".join(f"x{number} = {number}\n" for number in range(1_000_000)))
    told = subprocess.run(
        [sys.executable, "-c", COST, *AMPLINT, "check", "long.py"],
        cwd=tmp_path, env=environment(site), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert told.stderr == "error: long.py: too long to be checked\n"
    code, seconds, kilobytes = told.stdout.split()
    assert (code, float(seconds) < 30, int(kilobytes) < 1_000_000) == ("2", True, True)


# -- the clock ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits that are soon met; without callbacks of the collector, which would swallow the interrupt, as in real runs."""
    monkeypatch.setattr(limits, "SECONDS", 0.15)
    gc.disable()
    yield
    gc.enable()
    gc.collect()
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0, "the timer must not outlive what it watches"


def spin() -> None:
    while True:
        sum(range(10_000))


@pytest.mark.usefixtures("little")
def test_the_limit_holds_anew_for_each_file() -> None:
    for _ in range(3):
        with pytest.raises(limits.TooCostly, match="took more than 0.15 s"), limits.bounded():
            spin()


@pytest.mark.usefixtures("little")
def test_a_block_inside_of_another_one_counts_with_it() -> None:
    with pytest.raises(limits.TooCostly), limits.bounded():
        for _ in range(1000):
            with limits.bounded():
                sum(range(200_000))


@pytest.mark.usefixtures("little")
def test_parsing_by_libcst_is_interrupted_without_harm() -> None:
    text = AMP + "def f(scaler, x):\n" + "    scaler.scale(model(x, y=[1, 2, 3])).backward()\n" * 4000
    for _ in range(3):
        assert lint(text) == "took more than 0.15 s; not checked"


@pytest.mark.usefixtures("little")
def test_the_timer_of_a_profiler_is_left_alone() -> None:
    ticks: list[int] = []
    before = signal.signal(signal.SIGPROF, lambda *_: ticks.append(1))
    signal.setitimer(signal.ITIMER_PROF, 0.05, 0.05)
    try:
        with limits.bounded():
            while len(ticks) < 4:
                sum(range(10_000))
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before if before is not None else signal.SIG_DFL)


@pytest.mark.usefixtures("little")
def test_in_another_thread_the_limit_is_met_between_rules() -> None:
    found: list[BaseException] = []

    def work() -> None:
        try:
            with limits.bounded():
                for _ in range(1000):
                    sum(range(200_000))
                    limits.look()
        except limits.TooCostly as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1


def test_a_late_tick_ends_nobody() -> None:
    code = """
import os, signal
from amplint.system import limits

with limits.bounded():
    pass
os.kill(os.getpid(), signal.SIGPROF)
print("still here")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "still here\n", "")


def test_a_tick_in_a_destructor_waits_for_the_next_one_and_prints_nothing() -> None:
    """Python drops what a destructor raises and tells of it on stderr: a tick there can stop nothing and must say nothing."""
    code = """
import time
from amplint.system import limits

limits.SECONDS = 0.2

class Slow:
    def __del__(self):
        began = time.process_time()
        while time.process_time() - began < 0.5:
            pass

def waste():
    Slow()
    while True:
        pass

try:
    with limits.bounded():
        waste()
except limits.TooCostly as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "took more than 0.2 s\n", "")
