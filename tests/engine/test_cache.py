"""The cache is believed when it is right, and only then; whatever happens to it, the findings are the same."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cached_project import caches, check, fresh_project, held, held_in, seal
from forked import forked_amplint
from program import AMPLINT, environment

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fresh_project(tmp_path, monkeypatch)


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
        return forked_amplint("-", "--stdin-filename", "file1.py", cwd=project, stdin=text.encode()).stdout

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
        assert "broken.py:1:5: AMP900" in forked_amplint(*named, "broken.py", cwd=project).stdout
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
def test_damaged_caches_are_ignored_and_rebuilt(project: Path, write: Callable[[Path, bytes], object]) -> None:
    for number in range(1, len(DAMAGES)):  # each of these folders has a cache of its own
        (folder := project / f"part{number}").mkdir()
        (folder / "amplint.toml").write_text("")
        (folder / "file0.py").write_text("x = 1\n")
        (folder / "file1.py").write_text("flags_here\n")
    cold = check(project)
    damaged = dict(zip(caches(project), DAMAGES, strict=True))
    for file, damage in damaged.items():
        write(file, damage.encode())
    assert check(project) == cold
    for file, damage in damaged.items():
        assert len(held_in(file)[0]) in (2, 20), damage[:80]


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
