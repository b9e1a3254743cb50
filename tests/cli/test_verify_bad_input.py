"""`amplint verify` and what it cannot use: one clear line each, exit code 2, and no file of the author's harmed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forked import torch_python
from program import hear_interrupts
from test_cli_verify import DEVICE, LOOP
from test_cli_verify import amplint as in_this_process

pytest.importorskip("torch")

AMPLINT = (sys.executable, "-m", "amplint")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(LOOP)
    return tmp_path


def amplint(folder: Path, *arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own; `script` runs before it."""
    start = ("-c", f"{script}\nfrom amplint.cli.main import main; main()") if script else ("-m", "amplint")
    return torch_python(*start, *arguments, cwd=folder, timeout=300)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--evidence", "."), "error: .: cannot be written: Is a directory"),
        (("--evidence", "no/such/file"), "error: no/such/file: cannot be written: No such file or directory"),
        (("--evidence", "train.py"), "error: `--evidence` would overwrite `train.py`, which is checked"),
        (("-o", "./train.py"), "error: `--output-file` would overwrite `train.py`, which is checked"),
        (("-o", "x", "--evidence", "x"), "error: `--output-file` would overwrite what `--evidence` writes"),
        (("--timeout", "0"), "error: Invalid value for '--timeout': 0.0 is not in the range x>0; see"),
        (("--timeout", "nan"), "error: Invalid value for '--timeout': nan is no number of seconds"),
        (("--timeout", "soon"), "error: Invalid value for '--timeout': 'soon' is not a valid float range; see"),
        (("--device", "gpu"), "error: Invalid value for '--device': 'gpu' is not one of"),
        (("-", "train.py"), "error: `-` cannot be combined with other paths"),
    ],
)
def test_what_cannot_be_is_one_line(
    code: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(code)
    run = in_this_process("verify", *DEVICE, "train.py", *arguments)
    assert (run.exit_code, run.stdout) == (2, "")
    assert run.stderr.startswith(said) and run.stderr.count("\n") == 1
    assert (code / "train.py").read_text() == LOOP


def test_what_cannot_be_checked_is_told_and_the_rest_is_replayed(code: Path) -> None:
    (code / "broken.py").write_text("scaler = GradScaler(\n")
    run = amplint(code, "verify", *DEVICE, "train.py", "broken.py", "missing.py")
    assert run.returncode == 2
    assert run.stdout.startswith("train.py:11:9: AMP101 confirmed")
    told = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert [line.split(":")[1].strip() for line in told] == ["missing.py", "broken.py"]
    assert "Syntax error" in told[1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_is_full_is_told_once_and_nothing_else_is_lost(code: Path) -> None:
    (code / "again.py").write_text(LOOP)
    run = amplint(code, "verify", *DEVICE, ".", "--evidence", "/dev/full")
    assert run.returncode == 2
    assert run.stdout.count("AMP101 confirmed") == 2
    assert run.stderr.count("error: /dev/full: cannot be written: No space left on device") == 1
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_old_evidence_stays_where_there_is_no_room_for_new(code: Path) -> None:
    (code / "kept.jsonl").write_text("kept\n")
    no_room = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    run = amplint(code, "verify", *DEVICE, "--no-cache", "train.py", "--evidence", "kept.jsonl", script=no_room)
    assert run.returncode == 2 and "AMP101 confirmed" in run.stdout
    assert run.stderr.count("error: kept.jsonl: cannot be written: File too large") == 1
    assert (code / "kept.jsonl").read_text() == "kept\n"
    assert {path.name for path in code.iterdir()} == {"train.py", "kept.jsonl"}


def test_old_evidence_goes_where_there_is_none_any_more(code: Path) -> None:
    (code / "kept.jsonl").write_text("kept\n")
    (code / "train.py").write_text("x = 1\n")
    assert amplint(code, "verify", *DEVICE, "train.py", "--evidence", "kept.jsonl").returncode == 0
    assert (code / "kept.jsonl").read_text() == ""


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_evidence_goes_through_no_link_out_of_its_folder(code: Path) -> None:
    (code / "repository").mkdir()
    (code / "repository" / "kept.jsonl").symlink_to("../absent")
    run = amplint(code, "verify", *DEVICE, "train.py", "--evidence", "repository/kept.jsonl")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "error: repository/kept.jsonl: cannot be written: it is a link that leads out of its folder\n"
    assert not (code / "absent").exists()


@pytest.mark.skipif(IS_ROOT, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_is_told_before_the_work(code: Path) -> None:
    (code / "kept.jsonl").write_text("kept\n")
    (code / "kept.jsonl").chmod(0o400)
    run = amplint(code, "verify", *DEVICE, ".", "--evidence", "kept.jsonl")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "error: kept.jsonl: cannot be written: Permission denied\n"


OLD_TORCH = """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch without NumPy complains on import
    import torch
torch.__version__ = '1.13.1+cpu'
"""


@pytest.mark.skipif(sys.platform != "linux", reason="changes torch for forks")
def test_a_torch_that_is_too_old_is_one_line(code: Path) -> None:
    run = amplint(code, "verify", ".", script=OLD_TORCH)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: replaying needs PyTorch 2.") and "this is 1.13.1+cpu" in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--device=cpu", "--seed=1", "--timeout=5"])
def test_how_to_replay_is_not_said_where_nothing_is_replayed(
    code: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.chdir(code)
    run = in_this_process("check", "--fix", option, ".")
    name = option.partition("=")[0]
    assert run.exit_code == 2
    assert run.stderr.startswith(f"error: `{name}` without `--verify`: nothing is replayed")
    assert (code / "train.py").read_text() == LOOP


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts a group of processes")
def test_an_interrupt_ends_the_run_and_leaves_the_evidence_so_far(code: Path) -> None:
    for number in range(200):
        (code / f"train{number}.py").write_text(LOOP)
    process = subprocess.Popen(
        [*AMPLINT, "verify", *DEVICE, "--evidence", "kept.jsonl", "."], cwd=code, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()  # the first verdict
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 20
    assert (process.returncode, err.endswith("\ninterrupted\n")) == (130, True)
    assert 1 <= len((code / "kept.jsonl").read_text("utf-8").splitlines()) < 201
