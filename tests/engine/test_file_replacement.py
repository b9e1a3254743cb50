"""A file is replaced by its fixed text as a whole, or not at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from amplint.engine.file_replacement import FixError, write


def leftovers(folder: Path, *known: str) -> set[str]:
    return {path.name for path in folder.iterdir()} - set(known)


def test_write_replaces_the_content_and_keeps_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"old")
    path.chmod(0o751)
    write(path, b"old", b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751 or os.name != "posix"
    assert not leftovers(tmp_path, "file.py")


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_write_replaces_what_is_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    target = tmp_path / "sub" / "target.py"
    target.write_bytes(b"old")
    (tmp_path / "middle.py").symlink_to("sub/target.py")
    (tmp_path / "link.py").symlink_to("middle.py")
    write(tmp_path / "link.py", b"old", b"new")
    assert (tmp_path / "link.py").is_symlink() and (tmp_path / "middle.py").is_symlink()
    assert target.read_bytes() == b"new" and not target.is_symlink()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give files away")
def test_write_keeps_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o6755)
    write(path, b"old", b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o6755)


def refused(path: Path, expected: bytes = b"old") -> str:
    with pytest.raises(FixError) as caught:
        write(path, expected, b"new")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_write_refuses_when_the_file_changed(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"newer")
    assert refused(path) == "changed on disk since it was read; not fixed"
    assert path.read_bytes() == b"newer"
    assert not leftovers(tmp_path, "file.py")


def test_write_refuses_what_is_gone_or_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path / "absent.py") == "cannot be written: No such file or directory"
    assert refused(tmp_path).startswith("cannot be written: ")
    assert not leftovers(tmp_path)


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everything")
def test_write_refuses_a_read_only_file(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    assert refused(path) == "cannot be written: it is read-only"
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/proc/self/comm"), reason="needs a folder in which nothing can be made")
def test_write_leaves_nothing_behind_when_the_disk_refuses() -> None:
    comm = Path("/proc/self/task") / str(threading.get_native_id()) / "comm"
    before = comm.read_bytes()
    assert refused(comm, before).startswith("cannot be written: ")
    assert comm.read_bytes() == before


def test_readers_see_the_old_content_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    contents = [b"a" * 200_000, b"b" * 300_000]
    path.write_bytes(contents[0])
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for index in range(30):
        write(path, contents[index % 2], contents[(index + 1) % 2])
    done.set()
    reader.join()
    assert seen <= set(contents)


# A tick may fall into a callback of the garbage collector, where Python tells of the error and goes on; the next one ends it.
