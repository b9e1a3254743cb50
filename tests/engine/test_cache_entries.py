"""What a cache keeps of a file, and for how long."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cached_project import REPORT, held

from amplint.diagnostics import FileReport
from amplint.engine import cache_storage
from amplint.engine.cache import Cache
from amplint.engine.config import Settings
from amplint.engine.stamps import digest
from amplint.model.caller_contexts import CallerContext, Target
from amplint.model.events import Region
from amplint.system import reading

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe stamps at once: file times are fine-grained here, and no test should wait for two seconds."""
    monkeypatch.setattr(reading, "_CLOCK_NS", 0)


def old_file(folder: Path, content: bytes = b"content") -> tuple[Path, os.stat_result]:
    """A file whose stamp is old enough to be believed."""
    path = folder / "file.py"
    path.write_bytes(content)
    return path, path.stat()


def test_an_untouched_file_is_known_by_its_stamp(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    first = Cache(Settings(tmp_path), tmp_path / "cache")
    assert first.by_stamp(key := first.key(str(path), False), "shown/file.py", status) is None
    first.keep(key, status, digest(b"content"), REPORT)
    first.save()
    second = Cache(Settings(tmp_path), tmp_path / "cache")
    assert second.by_stamp(key, "shown/file.py", path.stat()) == REPORT
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # the time of change of the entry betrays it
    assert second.by_stamp(key, "shown/file.py", path.stat()) is None
    assert second.by_content(key, "shown/file.py", path.stat(), digest(b"content")) == REPORT
    assert second.by_stamp(key, "shown/file.py", path.stat()) == REPORT
    assert second.by_content(key, "shown/file.py", path.stat(), digest(b"Content")) is None


def test_a_file_that_was_just_written_is_not_known_by_its_stamp(tmp_path: Path) -> None:
    path, status = old_file(tmp_path)
    cache = Cache(Settings(tmp_path), tmp_path / "cache")
    key = cache.key(str(path), False)
    cache.keep(key, status, digest(b"content"), REPORT)
    assert cache.by_stamp(key, "shown/file.py", status) is None
    assert cache.by_content(key, "shown/file.py", status, digest(b"content")) == REPORT


def entered(row: int, dtype: str = "float16") -> tuple[CallerContext, ...]:
    """How a function is entered: from a row, under a region."""
    region = Region("cuda", dtype, "yes")
    return (CallerContext(Target("file.py", "loss"), region, True, True, (), "train.py", row, 1),)


def test_a_file_that_is_entered_in_several_ways_is_known_under_each(tmp_path: Path) -> None:
    path, _ = old_file(tmp_path)
    ways = [entered(3), entered(3, "bfloat16"), entered(4)]
    cache = Cache(Settings(tmp_path), tmp_path / "cache")
    for way in ways:
        cache.keep(cache.entered_key(str(path), way), None, "content", REPORT)
    cache.save()
    again = Cache(Settings(tmp_path), tmp_path / "cache")
    for way in ways:
        assert again.by_content(again.entered_key(str(path), way), REPORT.path, None, "content") == REPORT


def test_of_the_ways_in_which_a_file_is_entered_the_latest_are_kept(tmp_path: Path) -> None:
    path, _ = old_file(tmp_path)
    cache = Cache(Settings(tmp_path), tmp_path / "cache")
    for row in range(1, 31):
        cache.keep(cache.entered_key(str(path), entered(row)), None, "content", REPORT)
    keys = {row: cache.entered_key(str(path), entered(row)) for row in range(30, 22, -1)}
    assert all(cache.by_content(key, REPORT.path, None, "content") == REPORT for key in keys.values())
    assert cache.by_content(cache.entered_key(str(path), entered(22)), REPORT.path, None, "content") is None


def test_the_same_ways_are_told_from_others_wherever_the_calls_stand(tmp_path: Path) -> None:
    path, _ = old_file(tmp_path)
    cache = Cache(Settings(tmp_path), tmp_path / "cache")
    key = cache.entered_key(str(path), entered(3))
    cache.keep(key, None, "content", REPORT)
    assert cache.entered_key(str(path), entered(4)) != key
    assert cache.alike_keys(str(path), entered(4)) == [key]
    assert cache.alike_keys(str(path), entered(4, "bfloat16")) == []


def test_errors_are_not_kept(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    cache = Cache(Settings(tmp_path), tmp_path / "cache")
    cache.keep("file.py", status, digest(b"content"), FileReport("file.py", error="a rule crashed"))
    cache.save()
    assert cache.by_stamp("file.py", "file.py", status) is None
    assert not (tmp_path / "cache").exists()


def test_settings_that_matter_have_entries_of_their_own(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    settings = Settings(tmp_path, select=("AMP1",))
    first = Cache(settings, tmp_path / "cache")
    first.keep("file.py", status, digest(b"content"), REPORT)
    first.save()
    same = Settings(tmp_path, select=("AMP1",), exclude=("x",), origin="elsewhere")
    assert Cache(same, tmp_path / "cache").by_stamp("file.py", "f", status) is not None
    for other in (
        Settings(tmp_path), Settings(tmp_path, select=("AMP2",)), Settings(tmp_path, select=("AMP1",), torch=(2, 9)),
        Settings(tmp_path, select=("AMP1",), ignore=("AMP101",)), Settings(tmp_path / "sub", select=("AMP1",)),
        Settings(tmp_path, select=("AMP1",), per_file_ignores=(("a", ("AMP101",)),)),
    ):  # fmt: skip
        assert Cache(other, tmp_path / "cache").by_stamp("file.py", "f", status) is None


def test_entries_of_files_that_are_gone_are_dropped(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    first = Cache(Settings(tmp_path), tmp_path / "cache")
    for key in ("file.py", "gone.py", "file.py*", "gone.py*"):
        first.keep(key, status, "", REPORT)
    first.save()
    second = Cache(Settings(tmp_path), tmp_path / "cache")
    second.keep("new.py", status, "", REPORT)
    second.save()
    assert held(tmp_path / "cache")[0].keys() == {"file.py", "file.py*", "new.py"}


def test_eight_stay_for_each_root_and_nothing_of_the_user_is_touched(tmp_path: Path, patient: None) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "data.json").write_text("{}")
    path, status = old_file(tmp_path)
    for minor in range(12):
        cache = Cache(Settings(tmp_path, torch=(2, minor)), folder)
        cache.keep("file.py", status, "", REPORT)
        cache.save()
    assert len(list(folder.glob("*/*.cache"))) == 8
    assert {file.name for file in folder.iterdir() if file.is_file()} == {"data.json"}


def test_a_hundred_roots_stay(tmp_path: Path, patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_storage, "_ROOTS", 3)
    path, status = old_file(tmp_path)
    for number in range(5):
        cache = Cache(Settings(tmp_path / f"root{number}"), tmp_path / "cache")
        cache.keep("file.py", status, "", REPORT)
        cache.save()
    assert len(list((tmp_path / "cache").iterdir())) == 3
    assert Cache(Settings(tmp_path / "root4"), tmp_path / "cache").by_stamp("file.py", "f", status) is not None


# -- whole runs -----------------------------------------------------------------------------------------------------------
