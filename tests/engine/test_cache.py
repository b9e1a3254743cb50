"""The cache is believed when it is right, and only then; whatever happens to it, the findings are the same."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis
import misbehaving_pack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import AMPLINT, amplint, environment, problems

from amplint.diagnostics import Applicability, Diagnostic, Edit, FileReport, Fix, Related
from amplint.engine import cache as cache_module
from amplint.engine import cache_storage, report_codec
from amplint.engine.cache import Cache, digest
from amplint.engine.config import Settings
from amplint.source import Source

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")

SOURCE = Source.from_bytes("shown/file.py", b"one\ntwo \xc3\xa4\nthree\n")
REPORT = FileReport(
    "shown/file.py",
    (
        Diagnostic(
            "AMP101", "some-name", "Message `x`", SOURCE.range(4, 7), "note", (Related("here", SOURCE.range(0, 3), "other.py"),),
            Fix("Do it", (Edit(0, 1, "\n\u00e4"), Edit(3, 3, "")), Applicability.UNSAFE), frozenset({"mixed-precision"}),
            "shown/file.py",
        ),
        Diagnostic("AMP102", "other-name", "Message", SOURCE.range(9, 9), path="shown/file.py"),
    ),
    frozenset({"mixed-precision", "other"}),
)  # fmt: skip


def test_reports_survive_the_way_to_json_and_back() -> None:
    value = json.loads(json.dumps(report_codec.encode_report(REPORT)))
    assert report_codec.decode_report("shown/file.py", value) == REPORT


def test_reports_are_shown_under_the_path_of_the_new_run() -> None:
    report = report_codec.decode_report("elsewhere.py", report_codec.encode_report(REPORT))
    assert {report.path, *(one.path for one in report.diagnostics)} == {"elsewhere.py"}
    assert report.diagnostics[0].related[0].path == "other.py"


@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1], [[], [1]], [[], [["A"]]], [[[]], []], [[], [[1] * 8]], {"a": 1}]
)
def test_what_is_no_report_is_noticed(value: object) -> None:
    with pytest.raises(report_codec.Damaged):
        report_codec.decode_report("f", value)


# -- where entries lie ----------------------------------------------------------------------------------------------------


def caches(folder: Path) -> list[Path]:
    """The files of the cache in a folder, without one those of the user who works on a project."""
    user = folder.parent / "user" / "amplint"
    return list((user if folder.name == "project" else folder).glob("*/*.cache"))


def seal(file: Path, data: bytes, user: Path | None = None) -> None:
    """Write a file as only amplint can, for the user whose caches lie in a folder."""
    secret = ((user or Path(os.environ["XDG_CACHE_HOME"])) / "amplint" / "secret").read_bytes()
    file.write_bytes(cache_storage._seal(secret, file.name, data) + data)


def held(folder: Path) -> list[dict[str, list[Any]]]:
    """What the only file of a cache holds: entries, and the files that those rest on."""
    (file,) = caches(folder)
    loaded: list[dict[str, list[Any]]] = json.loads(file.read_bytes()[cache_storage._SEAL :])
    return loaded


# -- one entry ----------------------------------------------------------------------------------------------------------


def old_file(folder: Path, content: bytes = b"content") -> tuple[Path, os.stat_result]:
    """A file whose stamp is old enough to be believed."""
    path = folder / "file.py"
    path.write_bytes(content)
    return path, path.stat()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe stamps at once: file times are fine-grained here, and no test should wait for two seconds."""
    monkeypatch.setattr(cache_module, "_CLOCK_NS", 0)


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


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """More files than are read without asking the cache; the rules leave traces, so that one sees whether they ran."""
    site = misbehaving_pack.install(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.amplint]\n")
    for number in range(20):
        (folder / f"file{number}.py").write_text("flags_here\n" if number % 2 else "x = 1\n")
    return folder


def check(project: Path, *arguments: str) -> str:
    done = amplint(*arguments, ".", cwd=project)
    assert (done.returncode, problems(done)) == (1, [])
    return done.stdout


def test_a_second_run_says_the_same_without_linting(project: Path) -> None:
    cold = check(project, "--no-cache")
    assert cold.count("BAD006") == 10
    assert not caches(project)
    assert check(project) == cold
    # The rules would now say something else, and cannot, for nothing has changed that they could be asked about.
    told = held(project)
    for entry in told[0].values():
        if isinstance(entry[2], list):
            entry[2][1][0][2] = "Flagged long ago"
    (file,) = caches(project)
    seal(file, json.dumps(told).encode())
    assert check(project) == cold.replace("Flagged", "Flagged long ago")
    assert check(project, "--no-cache") == cold


def test_an_editor_is_told_what_a_run_on_the_project_found_out(project: Path) -> None:
    def edit(text: str) -> str:
        return amplint("-", "--stdin-filename", "file1.py", cwd=project, stdin=text.encode()).stdout

    check(project)
    told = held(project)
    told[0]["file1.py"][2][1][0][2] = "Flagged long ago"
    (file,) = caches(project)
    seal(file, json.dumps(told).encode())
    assert "Flagged long ago" in edit("flags_here\n")
    assert "file1.py:2:1: BAD006 Flagged" in (other := edit("\nflags_here\n")) and "long ago" not in other
    assert edit("\nflags_here\n") == other
    assert edit("x = 1\n") == ""
    assert "Flagged long ago" in edit("flags_here\n")
    assert "Flagged long ago" in check(project)


def test_changes_are_seen(project: Path) -> None:
    check(project)
    (project / "file1.py").write_text("flagt_here\n")  # as long as before
    (project / "file2.py").write_text("flags_here\n")
    (project / "file3.py").unlink()
    assert check(project) == check(project, "--no-cache")


def test_a_file_that_is_named_is_not_taken_for_one_that_was_walked_by(project: Path) -> None:
    (project / "broken.py").write_text("x = (\n")
    assert "broken.py" not in check(project)
    named = [f"file{number}.py" for number in range(20)]
    for _ in range(2):
        assert "broken.py:1:5: AMP900" in amplint(*named, "broken.py", cwd=project).stdout
        assert "broken.py" not in check(project)


def test_a_changed_rule_is_asked_again(project: Path) -> None:
    cold = check(project)
    (rule,) = (project.parent / "site" / "misbehaving_rules").glob("bad006_*.py")
    rule.write_text(rule.read_text().replace('"Flagged"', '"Flagged anew"'))
    assert check(project) == cold.replace("Flagged", "Flagged anew")


def test_nothing_is_written_beside_the_files_that_are_checked(project: Path) -> None:
    before = sorted(project.rglob("*"))
    check(project)
    assert sorted(project.rglob("*")) == before
    (file,) = caches(project)
    assert file.parent.parent == project.parent / "user" / "amplint"


@posix
def test_nobody_else_can_look_into_the_cache(project: Path) -> None:
    check(project)
    for path in [project.parent / "user" / "amplint", *(project.parent / "user" / "amplint").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_folder_hides_itself_from_git_and_backups_even_if_it_was_half_made(project: Path) -> None:
    check(project)
    (file,) = caches(project)
    for path in file.parent.iterdir():
        path.unlink()
    check(project)
    assert (file.parent / ".gitignore").read_text() == "*\n"
    assert (file.parent / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


def test_where_the_cache_lies(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "amplint.toml").write_text('cache-dir = "set/here"\n')
    check(project)
    assert caches(project / "set" / "here")
    monkeypatch.setenv("AMPLINT_CACHE_DIR", "variable")
    check(project)
    assert caches(project / "variable")
    check(project, "--cache-dir", "option")
    assert caches(project / "option")
    assert not caches(project)


DAMAGES = (
    "", "{", "[]", "null", "[" * 100_000, "\ufffd", '{"file1.py": 3}', '[{"file1.py": [1, 2, 3]}, {}]',
    '[{"file1.py": [[0, 0, 0], "", [1], null]}, {}]', '[{"file1.py": [[0, 0, 0], "", null, [[1], 2]]}, {}]',
    '[{}, {"file1.py": 3}]',
)  # fmt: skip


@pytest.mark.parametrize("write", [Path.write_bytes, seal], ids=["by anybody", "by amplint itself"])
def test_a_damaged_cache_is_ignored_and_rebuilt(project: Path, write: Callable[[Path, bytes], object]) -> None:
    cold = check(project)
    (file,) = caches(project)
    for damage in DAMAGES:
        write(file, damage.encode())
        assert check(project) == cold, damage[:80]
        assert len(held(project)[0]) == 20, damage[:80]


@given(st.data())
@hypothesis.settings(max_examples=200, deadline=None)
def test_values_of_other_types_are_noticed(data: st.DataObject) -> None:
    """Whatever a value is replaced by, a report is refused, or is one that every format can show."""
    value = report_codec.encode_report(REPORT)
    within: Any = value
    while True:
        place = data.draw(st.integers(0, len(within) - 1))
        if not isinstance(within[place], list) or not within[place] or data.draw(st.booleans()):
            break
        within = within[place]
    within[place] = data.draw(st.sampled_from([None, True, -1, 10**30, 0.5, float("inf"), "x", [], [1], [[]], {}]))
    with suppress(report_codec.Damaged):
        report = report_codec.decode_report("shown/file.py", value)
        assert (
            report_codec.decode_report("shown/file.py", json.loads(json.dumps(report_codec.encode_report(report))))
            == report
        )


def no_cache(project: Path, why: str, *arguments: str, chosen: bool = False) -> None:
    """The run says the same; why it will not be faster only to those who ask, or who have `chosen` where the cache lies."""
    cold = check(project, "--no-cache")
    for verbose in ((), ("--verbose",)):
        done = amplint(*verbose, *arguments, ".", cwd=project)
        assert (done.returncode, problems(done), done.stdout) == (1, [], cold)
        said = [line for line in done.stderr.splitlines() if "cached" in line]
        assert len(said) == bool(verbose or chosen)
        assert all(line.startswith(f"{'warning: ' * chosen}Nothing was cached: ") and why in line for line in said)


def test_a_folder_that_cannot_be_written_is_no_problem(project: Path) -> None:
    (project.parent / "user").write_text("in the way")
    no_cache(project, "Not a directory")


HOMES = {
    "/dev/null": "Not a directory",
    "/nowhere/at/all": "/nowhere/at/all",
}
"""What `HOME` may be set to, and what is said of it."""


@posix
@pytest.mark.parametrize("home", HOMES)
def test_without_a_home_nothing_is_kept(project: Path, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if home.startswith("/nowhere") and os.geteuid() == 0:
        pytest.skip("the superuser can make a home anywhere")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", home)
    before = sorted(project.rglob("*"))
    no_cache(project, HOMES[home])
    assert sorted(project.rglob("*")) == before


@posix
def test_a_cache_folder_in_other_hands_is_not_used(project: Path) -> None:
    folder = project / "cache"
    (project / "elsewhere").mkdir()
    folder.symlink_to("elsewhere")
    no_cache(project, "is a symbolic link", "--cache-dir", "cache", chosen=True)
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    no_cache(project, "is open to other users", "--cache-dir", "cache", chosen=True)
    if os.geteuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 65534, 65534)
        no_cache(project, "belongs to another user", "--cache-dir", "cache", chosen=True)
    assert not list((project / "elsewhere").iterdir())


@posix
def test_a_secret_that_others_know_is_not_used(project: Path) -> None:
    check(project)
    (project.parent / "user" / "amplint" / "secret").chmod(0o644)
    no_cache(project, "is open to other users")


def test_a_secret_that_was_half_written_is_made_anew(project: Path) -> None:
    check(project)
    (project.parent / "user" / "amplint" / "secret").write_bytes(b"short")
    check(project)
    assert len(held(project)[0]) == 20


def test_a_cache_that_came_with_the_tree_is_not_believed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged cache that says that all is well, and links that lead to the user's files."""
    cold = check(project, "--no-cache")
    (project / "amplint.toml").write_text('cache-dir = "cache"\n')
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "stranger"))
    check(project)
    (file,) = caches(project / "cache")
    told = held(project / "cache")
    for entry in told[0].values():
        entry[2] = None
    seal(file, json.dumps(told).encode(), project.parent / "stranger")
    assert amplint(".", cwd=project).returncode == 0  # whoever forged it believes it
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "user"))
    assert check(project) == cold


@posix
def test_links_in_a_cache_that_came_with_the_tree_are_not_followed(project: Path) -> None:
    (project / "amplint.toml").write_text('cache-dir = "cache"\n')
    check(project)
    (file,) = caches(project / "cache")
    mine = project.parent / "mine"
    for path in list(file.parent.iterdir()):
        path.unlink()
        path.symlink_to(mine)
    check(project)
    assert not mine.exists()
    file.unlink()
    mine.write_text("precious")
    file.symlink_to(mine)
    check(project)
    assert mine.read_text() == "precious"
    assert not file.is_symlink()


@posix
def test_folders_for_roots_that_are_links_are_not_entered(project: Path) -> None:
    (project / "amplint.toml").write_text('cache-dir = "cache"\n')
    check(project)
    (file,) = caches(project / "cache")
    file.parent.rename(project / "cache" / "real")
    file.parent.symlink_to("real")
    no_cache(project, "is a symbolic link", chosen=True)


@posix
@pytest.mark.parametrize("where", ["..", "/tmp/somewhere", "out/cache", ".", "a\\u0000b"])
def test_settings_place_the_cache_below_their_folder_only(project: Path, where: str) -> None:
    (project / "out").symlink_to("..")
    (project / "amplint.toml").write_text(f'cache-dir = "{where}"\n')
    done = amplint(".", cwd=project)
    (problem,) = problems(done)
    assert problem.startswith("amplint.toml: `cache-dir`: ")
    assert done.returncode == 2


def test_runs_at_the_same_time(project: Path) -> None:
    cold = check(project, "--no-cache")
    runs = [
        subprocess.Popen(
            [*AMPLINT, "."], cwd=project, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in runs:
        out, err = process.communicate(timeout=120)
        assert (out, process.returncode) == (cold, 1), err
    assert check(project) == cold
    assert not list((project.parent / "user").rglob("*.tmp"))
