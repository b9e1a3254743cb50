"""The cache is believed when it is right, and only then; whatever happens to it, the findings are the same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import misbehaving_pack
import pytest
from program import AMPLINT, amplint, environment, problems

from amplint import cache as cache_module
from amplint import wire
from amplint.cache import Cache, digest
from amplint.config import Settings
from amplint.diagnostics import Applicability, Diagnostic, Edit, FileReport, Fix, Related
from amplint.source import Source

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
    value = json.loads(json.dumps(wire.encode_report(REPORT)))
    assert wire.decode_report("shown/file.py", value) == REPORT


def test_reports_are_shown_under_the_path_of_the_new_run() -> None:
    report = wire.decode_report("elsewhere.py", wire.encode_report(REPORT))
    assert {report.path, *(one.path for one in report.diagnostics)} == {"elsewhere.py"}
    assert report.diagnostics[0].related[0].path == "other.py"


@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1], [[], [1]], [[], [["A"]]], [[[]], []], [[], [[1] * 8]], {"a": 1}]
)
def test_what_is_no_report_is_noticed(value: object) -> None:
    with pytest.raises(wire.Damaged):
        wire.decode_report("f", value)


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
    first = Cache(tmp_path / "cache", Settings(tmp_path))
    assert first.by_stamp(key := first.key(str(path), False), "shown/file.py", status) is None
    first.keep(key, status, digest(b"content"), REPORT)
    first.save()
    second = Cache(tmp_path / "cache", Settings(tmp_path))
    assert second.by_stamp(key, "shown/file.py", path.stat()) == REPORT
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # the time of change of the entry betrays it
    assert second.by_stamp(key, "shown/file.py", path.stat()) is None
    assert second.by_content(key, "shown/file.py", path.stat(), digest(b"content")) == REPORT
    assert second.by_stamp(key, "shown/file.py", path.stat()) == REPORT
    assert second.by_content(key, "shown/file.py", path.stat(), digest(b"Content")) is None


def test_a_file_that_was_just_written_is_not_known_by_its_stamp(tmp_path: Path) -> None:
    path, status = old_file(tmp_path)
    cache = Cache(tmp_path / "cache", Settings(tmp_path))
    key = cache.key(str(path), False)
    cache.keep(key, status, digest(b"content"), REPORT)
    assert cache.by_stamp(key, "shown/file.py", status) is None
    assert cache.by_content(key, "shown/file.py", status, digest(b"content")) == REPORT


def test_errors_are_not_kept(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    cache = Cache(tmp_path / "cache", Settings(tmp_path))
    cache.keep("file.py", status, digest(b"content"), FileReport("file.py", error="a rule crashed"))
    cache.save()
    assert cache.by_stamp("file.py", "file.py", status) is None
    assert not (tmp_path / "cache").exists()


def test_settings_that_matter_have_entries_of_their_own(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    settings = Settings(tmp_path, select=("AMP1",))
    first = Cache(tmp_path / "cache", settings)
    first.keep("file.py", status, digest(b"content"), REPORT)
    first.save()
    same = Settings(tmp_path, select=("AMP1",), exclude=("x",), origin="elsewhere")
    assert Cache(tmp_path / "cache", same).by_stamp("file.py", "f", status) is not None
    for other in (
        Settings(tmp_path), Settings(tmp_path, select=("AMP2",)), Settings(tmp_path, select=("AMP1",), torch=(2, 9)),
        Settings(tmp_path, select=("AMP1",), ignore=("AMP101",)), Settings(tmp_path / "sub", select=("AMP1",)),
        Settings(tmp_path, select=("AMP1",), per_file_ignores=(("a", ("AMP101",)),)),
    ):  # fmt: skip
        assert Cache(tmp_path / "cache", other).by_stamp("file.py", "f", status) is None


def test_entries_of_files_that_are_gone_are_dropped(tmp_path: Path, patient: None) -> None:
    path, status = old_file(tmp_path)
    first = Cache(tmp_path / "cache", Settings(tmp_path))
    for key in ("file.py", "gone.py", "file.py*", "gone.py*"):
        first.keep(key, status, "", REPORT)
    first.save()
    second = Cache(tmp_path / "cache", Settings(tmp_path))
    second.keep("new.py", status, "", REPORT)
    second.save()
    (file,) = (tmp_path / "cache").glob("*.json")
    assert json.loads(file.read_text())[0].keys() == {"file.py", "file.py*", "new.py"}


def test_a_folder_keeps_the_latest_eight_and_nothing_of_the_user_is_touched(tmp_path: Path, patient: None) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "data.json").write_text("{}")
    path, status = old_file(tmp_path)
    for minor in range(12):
        cache = Cache(folder, Settings(tmp_path, torch=(2, minor)))
        cache.keep("file.py", status, "", REPORT)
        cache.save()
    names = {file.name for file in folder.iterdir()}
    assert len(names) == 9 and "data.json" in names
    assert not {".gitignore", "CACHEDIR.TAG"} & names


# -- whole runs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """More files than are read without asking the cache; the rules leave traces, so that one sees whether they ran."""
    site = misbehaving_pack.install(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(site))
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


def entries(project: Path) -> dict[str, list[object]]:
    (file,) = (project / ".amplint_cache").glob("*.json")
    loaded: dict[str, list[object]] = json.loads(file.read_text())[0]
    return loaded


def test_a_second_run_says_the_same_without_linting(project: Path) -> None:
    cold = check(project, "--no-cache")
    assert cold.count("BAD006") == 10
    assert not (project / ".amplint_cache").exists()
    assert check(project) == cold
    # The rules would now say something else, and cannot, for nothing has changed that they could be asked about.
    told = entries(project)
    for entry in told.values():
        if isinstance(entry[2], list):
            entry[2][1][0][2] = "Flagged long ago"
    (file,) = (project / ".amplint_cache").glob("*.json")
    file.write_text(json.dumps([told, {}]))
    assert check(project) == cold.replace("Flagged", "Flagged long ago")
    assert check(project, "--no-cache") == cold


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


def test_the_folder_hides_itself_from_git_and_backups(project: Path) -> None:
    check(project)
    assert (project / ".amplint_cache" / ".gitignore").read_text() == "*\n"
    assert (
        (project / ".amplint_cache" / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    )


def test_another_folder_may_be_named(project: Path) -> None:
    check(project, "--cache-dir", "elsewhere")
    assert list((project / "elsewhere").glob("amplint-*.json"))
    assert not (project / ".amplint_cache").exists()


@pytest.mark.parametrize(
    "damage",
    [
        "", "{", "[]", "null", "[" * 100_000, "\ufffd", '{"file1.py": 3}', '[{"file1.py": [1, 2, 3]}, {}]',
        '[{"file1.py": [[0, 0, 0], "", [1], null]}, {}]', '[{"file1.py": [[0, 0, 0], "", null, [[1], 2]]}, {}]',
        '[{}, {"file1.py": 3}]',
    ],
)  # fmt: skip
def test_a_damaged_cache_is_ignored_and_rebuilt(project: Path, damage: str) -> None:
    cold = check(project)
    (file,) = (project / ".amplint_cache").glob("*.json")
    file.write_text(damage)
    assert check(project) == cold
    assert len(entries(project)) == 20


def test_a_folder_that_cannot_be_written_is_no_problem(project: Path) -> None:
    (project / ".amplint_cache").write_text("in the way")
    cold = check(project)
    assert cold == check(project, "--no-cache")
    assert "Nothing was cached" in amplint("--verbose", ".", cwd=project).stderr


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
    assert not list((project / ".amplint_cache").glob("*.json.*"))
