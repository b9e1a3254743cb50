"""A file changes in one step or not at all, keeps what it had, and nothing is left beside it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from amplint.system import atomic

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX")
as_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give files away")
LEFT = ".amplint-0123456789abcdef.tmp"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_new_file_has_the_permissions_that_are_usual(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.write_bytes(b"")
    atomic.replace(tmp_path / "new", b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode
    assert names(tmp_path) == {"usual", "new"}


@posix
def test_the_file_behind_a_link_changes_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    atomic.replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_what_the_last_look_raises_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: list[set[bytes]] = []

    def look() -> None:
        seen.append({one.read_bytes() for one in tmp_path.iterdir()})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic.replace(path, b"new", last_look=look)
    assert seen == [{b"old", b"new"}]
    assert path.read_bytes() == b"old" and names(tmp_path) == {"file"}


@pytest.mark.parametrize("kind", ["folder", "pipe", "read-only", "no folder"])
def test_what_cannot_be_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes with names")
        os.mkfifo(path)
    elif kind == "read-only":
        if os.name == "posix" and os.geteuid() == 0:
            pytest.skip("root may write everything")
        path.write_bytes(b"old")
        path.chmod(0o444)
    else:
        path = path / "below"
    before = names(tmp_path)
    with pytest.raises(OSError):
        atomic.replace(path, b"new")
    assert names(tmp_path) == before


@posix
def test_what_counts_as_a_stream(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    streams: list[str | Path] = ["/dev/null", "/dev/stdout", "/dev/fd/1", tmp_path / "pipe", tmp_path / "link"]
    others: list[str | Path] = [tmp_path, tmp_path / "file", tmp_path / "absent", "/dev/shm/absent"]
    assert [path for path in [*streams, *others] if atomic.is_stream(path)] == streams


@as_root
def test_owner_group_and_set_id_bits_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o6755)
    atomic.replace(path, b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o6755)


_AS_NOBODY = """
import os, sys
from amplint.system import atomic
os.setgroups([int(group) for group in sys.argv[2:]])
os.setgid(65534)
os.setuid(65534)
atomic.replace(sys.argv[1], b"new")
"""


@as_root
@pytest.mark.parametrize(("groups", "mode", "after"), [((), 0o6762, 0o722), ((23456,), 0o6762, 0o762)])
def test_what_becomes_somebody_elses_gets_no_rights_that_nobody_gave(
    groups: tuple[int, ...], mode: int, after: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(mode)
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == 0 and folder != Path("/") and not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    tmp_path.chmod(0o777)
    subprocess.run([sys.executable, "-c", _AS_NOBODY, path, *map(str, groups)], check=True)
    status = path.stat()
    assert path.read_bytes() == b"new"
    assert (status.st_uid, status.st_gid) == (65534, 23456 if groups else 65534)
    assert stat.S_IMODE(status.st_mode) == after


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes")
def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    atomic.replace(path, b"new")
    assert os.getxattr(path, "user.note") == b"mine"


# -- what a kill leaves -------------------------------------------------------------------------------------------------

_HANGS = """
import sys, time
from amplint.system import atomic

def last_look():
    print("written", flush=True)
    time.sleep(60)

atomic.replace(sys.argv[1], b"new", last_look=last_look)
"""


@contextmanager
def writing(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has written new content beside a file, and does not get any further."""
    with subprocess.Popen([sys.executable, "-c", _HANGS, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"written\n"
        try:
            yield process
        finally:
            process.kill()


@posix
def test_what_a_kill_leaves_is_swept_away_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with writing(path) as process:
        atomic.sweep(tmp_path)
        assert len(names(tmp_path)) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(names(tmp_path)) == 2 and path.read_bytes() == b"old"
    atomic.sweep(tmp_path)
    assert names(tmp_path) == {"file"} and path.read_bytes() == b"old"


@posix
def test_only_what_is_ours_is_swept_away(tmp_path: Path) -> None:
    theirs = {".amplint-mine.tmp", LEFT + "~", "x" + LEFT, LEFT.upper(), LEFT.replace("a", "g")}
    for name in theirs:
        (tmp_path / name).write_bytes(b"content")
    outside = tmp_path / "outside"
    outside.write_bytes(b"content")
    (tmp_path / LEFT).symlink_to(outside)
    os.mkfifo(tmp_path / LEFT.replace("0", "1"))
    (tmp_path / LEFT.replace("0", "2")).mkdir()
    before = names(tmp_path)
    atomic.sweep(tmp_path)
    assert names(tmp_path) == before and outside.read_bytes() == b"content"
    (tmp_path / LEFT.replace("0", "3")).write_bytes(b"half")
    atomic.sweep(tmp_path)
    assert names(tmp_path) == before
    atomic.sweep(tmp_path / "absent")


@as_root
def test_what_another_user_left_is_not_swept_away(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / LEFT).write_bytes(b"half")
    script = "import os; from amplint.system import atomic; os.chdir('shared'); os.setuid(65534); atomic.sweep('.')"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    assert names(folder) == {LEFT}


@posix
def test_sweeping_never_takes_what_is_being_written(tmp_path: Path) -> None:
    done = threading.Event()

    def keep_sweeping() -> None:
        while not done.is_set():
            atomic.sweep(tmp_path)

    sweeper = threading.Thread(target=keep_sweeping)
    sweeper.start()
    try:
        for index in range(200):
            atomic.replace(tmp_path / "file", str(index).encode())
    finally:
        done.set()
        sweeper.join()
    assert (tmp_path / "file").read_bytes() == b"199" and names(tmp_path) == {"file"}


# -- names ------------------------------------------------------------------------------------------------------------


@posix
def test_another_name_of_a_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"new")
    other.write_bytes(b"old")
    atomic.relink(str(one), str(other))
    atomic.relink(str(one), str(other))  # it is one already
    assert one.samefile(other) and names(tmp_path) == {"one", "other"}
    with pytest.raises(OSError):
        atomic.relink(str(one), str(tmp_path / "absent" / "other"))
