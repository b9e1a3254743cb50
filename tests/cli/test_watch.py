"""`--watch`: a real process, which checks again when files change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from threading import Timer

import demo_pack
import pytest
from demo_run import CLEAN, SAFE, amplint, process, write
from program import hear_interrupts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
FOUND = "Found 1 finding in 1 of 2 files; 1 fixable with `--fix`"
WAITING = "Watching for changes; Ctrl-C ends\n"


class Watcher:
    """A process that watches, and what it has said."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self.program = program

    def heard(self, changed: str = "") -> list[str]:
        """What is said up to the next time that it waits, without that; what is said of other files is passed over: where the
        machine is slow, one change may come in two, or two at once."""
        assert self.program.stderr is not None
        lines: list[str] = []
        while True:
            line = self.program.stderr.readline()
            assert line, f"the process has ended: {lines}"
            if line != WAITING:
                lines.append(line.rstrip("\n"))
            elif not changed or changed in lines[0]:
                return lines
            else:
                lines = []

    def ends(self) -> tuple[int, set[str]]:
        """Press Ctrl-C; the exit code, and all findings that were shown."""
        self.program.send_signal(signal.SIGINT)
        stdout, stderr = self.program.communicate(timeout=100)
        assert "error" not in stderr
        return self.program.returncode, {" ".join(line.split(" ")[:2]) for line in stdout.splitlines()}


@contextmanager
def watching(pack: Path, *arguments: str) -> Iterator[Watcher]:
    pytest.importorskip("watchfiles", reason="--watch needs watchfiles: pip install 'amplint[watch]'")
    settings = {**os.environ, "PYTHONPATH": str(pack)}
    command = [sys.executable, "-m", "amplint", "--watch", *arguments]
    with subprocess.Popen(
        command, env=settings, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, preexec_fn=hear_interrupts
    ) as program:
        deadline = Timer(400, program.kill)
        deadline.start()
        try:
            yield Watcher(program)
        finally:
            deadline.cancel()
            program.kill()


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return demo_pack.install(tmp_path / "site")


def test_files_that_change_come_and_go_are_checked_again(pack: Path) -> None:
    write(a=SAFE, sub__b=CLEAN)
    with watching(pack) as watcher:
        assert watcher.heard()[0] == FOUND
        Path("notes.txt").write_text("of no interest")
        write(sub__b=SAFE)
        watcher.heard("sub/b.py")
        Path("a.py").unlink()
        watcher.heard("a.py")
        write(sub__new__c=CLEAN)
        assert watcher.heard("sub/new")[1] == FOUND
        write(sub__b=CLEAN)
        while watcher.heard("sub/b.py")[1] != "No findings in 2 files":
            pass
        assert watcher.ends() == (0, {"a.py:1:1: DEM101", "sub/b.py:1:1: DEM101"})


def test_the_draft_that_an_editor_puts_in_the_place_of_a_file_is_not_named(pack: Path) -> None:
    write(a=SAFE, b=CLEAN)
    with watching(pack) as watcher:
        assert watcher.heard()[0] == FOUND
        Path("draftX1").write_text(CLEAN)
        Path("draftX1").replace("a.py")
        assert watcher.heard("a.py")[0] == "Changed: a.py"
        assert watcher.ends()[0] == 0


def test_settings_count_and_the_last_exit_code_is_that_of_the_process(pack: Path) -> None:
    write(a=SAFE)
    with watching(pack, "-v") as watcher:
        watcher.heard()
        Path("amplint.toml").write_text("unknown = 1\n")
        told = watcher.heard("amplint.toml")
        assert any(line.startswith("error: amplint.toml:") for line in told), told
        assert watcher.ends()[0] == 2


def test_settings_above_the_paths_and_what_they_name_are_watched(pack: Path) -> None:
    write(sub__a=SAFE)
    Path("amplint.toml").write_text("")
    with watching(pack, "sub") as watcher:
        assert watcher.heard()[0].startswith("Found 1 finding")
        Path("amplint.toml").write_text("baseline = 'known.json'\n")
        assert "there is no such baseline" in watcher.heard("amplint.toml")[1]
        with process(pack, "sub", "--update-baseline") as update:
            assert update.wait(100) == 0
        assert watcher.heard("known.json")[2] == "No new findings in 1 file"
        Path("amplint.toml").unlink()
        assert watcher.heard("amplint.toml")[1].startswith("Found 1 finding")
        assert watcher.ends()[0] == 1


def test_a_baseline_that_each_check_writes_starts_none(pack: Path) -> None:
    write(sub__a=SAFE)
    with watching(pack, "sub", "--baseline", "known.json", "--update-baseline") as watcher:
        assert watcher.heard()[0] == "known.json: 1 finding (1 added, 0 dropped)"
        write(sub__b=SAFE)
        assert watcher.heard()[0] == "Changed: sub/b.py"
        write(sub__c=SAFE)
        assert watcher.heard()[0] == "Changed: sub/c.py"


def test_a_file_that_is_named_is_watched_and_fixed(pack: Path) -> None:
    write(a=CLEAN, b=CLEAN)
    with watching(pack, "a.py", "--fix") as watcher:
        watcher.heard()
        write(b=SAFE)
        Path("a.tmp").write_text(SAFE)
        Path("a.tmp").replace("a.py")
        watcher.heard("a.py")
        watcher.heard("a.py")  # by the fix
        assert watcher.ends() == (0, set())
    assert (Path("a.py").read_text(), Path("b.py").read_text()) == ("good()\n", SAFE)


def test_what_cannot_be_watched_is_one_line(pack: Path) -> None:
    done = amplint("--watch", "-", stdin="")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    Path("watchfiles.py").write_text("")
    absent = (
        sys.executable,
        "-c",
        "import sys; sys.modules['watchfiles'] = None; from amplint.cli.main import main; main()",
    )
    run = subprocess.run([*absent, "--watch"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "") and run.stderr.count("\n") == 1, run.stderr
    pytest.importorskip("watchfiles", reason="--watch needs watchfiles: pip install 'amplint[watch]'")
    done = amplint("--watch", "nowhere/at/all")
    assert done.exit_code == 2 and "Traceback" not in done.stderr
