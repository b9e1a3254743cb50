"""What the author's code may not do is refused by the kernel, too, to code that does not ask Python; and what a copy holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import environment

from amplint.runtime.execution.tree_copies import TooLarge, copied, place_for_copies

REFUSES = """\
import ctypes, os, sys, threading
from amplint.runtime.execution import system_calls
held = open(sys.argv[1], "rb")
if not system_calls.refuse():
    print("absent")
    raise SystemExit
libc = ctypes.CDLL(None, use_errno=True)
def ask(name, *arguments):
    ctypes.set_errno(0)
    print(name, getattr(libc, name)(*arguments), ctypes.get_errno())
path = sys.argv[1].encode()
ask("socket", 2, 1, 0)
ask("fork")
ask("kill", os.getppid(), 0)
ask("open", path, os.O_RDWR)
ask("open", path + b".new", os.O_CREAT | os.O_WRONLY, 0o600)
ask("unlink", path)
ask("chmod", path, 0o777)
ask("execve", path, None, None)
ask("ioctl", 0, 0x5412, b"x")
ask("ptrace", 0, 0, 0, 0)
thread = threading.Thread(target=ask, args=("unlink", path))
thread.start()
thread.join()
print("reads", len(held.read()), len(open(path).read()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a filter of system calls is Linux's")
def test_the_kernel_refuses_what_python_is_not_asked_for(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    done = subprocess.run(
        [sys.executable, "-c", REFUSES, str(kept)], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert done.stderr == ""
    *refused, reads = done.stdout.splitlines()
    if reads == "absent":
        pytest.skip("this kernel has no such filter")
    assert refused == [
        "socket -1 1", "fork -1 1", "kill -1 1", "open -1 30", "open -1 30", "unlink -1 1", "chmod -1 1", "execve -1 1",
        "ioctl -1 1", "ptrace -1 1", "unlink -1 1",
    ]  # fmt: skip
    assert (reads, kept.read_text(), os.listdir(tmp_path)) == ("reads 4 4", "kept", ["kept"])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("open('x', 'w')", "writing files"),
        ("import os; os.open('x', os.O_RDWR)", "writing files"),
        ("import os; os.mkdir('x')", "writing files"),
        ("import shutil; shutil.copyfile('/etc/hostname', 'x')", "writing files"),
        ("import subprocess; subprocess.run(['true'])", "starting a process"),
        ("import socket; socket.socket()", "connecting to the network"),
        ("import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))", "changing limits"),
    ],
)
def test_python_says_what_it_refuses(code: str, said: str, tmp_path: Path) -> None:
    script = f"from amplint.runtime.execution import confinement\nconfinement.confine()\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment()
    )
    assert done.stderr.splitlines()[-1] == f"PermissionError: {said} is refused"
    assert not list(tmp_path.iterdir())


def test_a_copy_holds_the_code_of_a_tree_for_reading_only(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("pkg/deep/a.py", "config.yaml", ".git/hooks/b.py", "venv/lib/c.py", "data.bin", "run.sh", "huge.json"):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * (2_000_000 if name == "huge.json" else 1))
    (tree / "venv" / "pyvenv.cfg").write_text("")
    (tree / "link.py").symlink_to(tree / "config.yaml")
    (tree / "away").symlink_to(tmp_path)
    with place_for_copies() as place:
        copy = copied(tree, place)
        assert copied(tree, place) == copy
        files = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file())
        assert files == ["config.yaml", "pkg/deep/a.py"]
        assert all(path.stat().st_mode & 0o222 == 0 for path in copy.rglob("*"))
    assert not place.exists()
    assert (tree / "pkg" / "deep" / "a.py").read_text() == "x"


def test_a_tree_that_is_too_large_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amplint.runtime.execution.tree_copies._MOST_FILES", 2)
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"m{number}.py").write_text("")
    with place_for_copies() as place:
        with pytest.raises(TooLarge):
            copied(tree, place)
        assert not list(place.iterdir())
