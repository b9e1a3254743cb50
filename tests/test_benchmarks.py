"""The benchmark lays out the repositories that it measures, and says in one line why it cannot."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest
from checkout import ROOT

COMPARE = ROOT / "benchmarks" / "compare.py"


@pytest.fixture
def repositories(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("repositories", COMPARE.with_name("repositories.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "repositories", module)
    spec.loader.exec_module(module)
    return module


def commit(folder: Path, others: Mapping[str, str] = MappingProxyType({})) -> str:
    """Make a bare repository of two files, one of them Python, and others; the name of its commit."""
    work = folder.parent / "work"
    (work / "pkg").mkdir(parents=True)
    for path, text in {"pkg/train.py": "x = 1\n", "README.md": "text\n", **others}.items():
        (work / path).write_text(text)
    (work / "pkg" / "link.py").symlink_to("train.py")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(work)]
    for line in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["clone", "-q", "--bare", ".", str(folder)]):
        subprocess.run([*git, *line], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def forget(mirror: Path, path: str) -> None:
    """Take the text of a file out of a bare repository."""
    command = ["git", "--git-dir", str(mirror), "rev-parse", f"HEAD:{path}"]
    blob = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (mirror / "objects" / blob[:2] / blob[2:]).unlink()


def test_a_commit_of_a_mirror_is_laid_out_once(tmp_path: Path, repositories: ModuleType) -> None:
    wanted = repositories.Repository("own/er", commit(tmp_path / "mirrors" / "own+er"))
    folder = repositories.lay_out(wanted, tmp_path / "cache", tmp_path / "mirrors")
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()] == ["pkg/train.py"]
    assert repositories.lay_out(wanted, tmp_path / "cache", tmp_path / "no_mirrors") == folder
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [folder.name]


def test_files_that_a_mirror_has_no_text_of_are_left_out_and_named(
    tmp_path: Path, repositories: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = tmp_path / "mirrors" / "own+er"
    wanted = repositories.Repository("own/er", commit(mirror, {"pkg/large.py": "y = 2\n", "data.bin": "0" * 99}))
    for path in ("pkg/large.py", "data.bin"):
        forget(mirror, path)
    folder = repositories.lay_out(wanted, tmp_path / "cache", tmp_path / "mirrors")
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()] == ["pkg/train.py"]
    assert capsys.readouterr().err == f"{folder.name}: git has no text of pkg/large.py\n"


def test_a_mirror_that_lacks_the_commit_leaves_nothing(tmp_path: Path, repositories: ModuleType) -> None:
    commit(tmp_path / "mirrors" / "own+er")
    with pytest.raises(repositories.RepositoryError, match="^git ls-tree: .+$"):
        repositories.lay_out(repositories.Repository("own/er", "0" * 40), tmp_path / "cache", tmp_path / "mirrors")
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_cannot_be_measured_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(COMPARE), "--repositories", "cache", "--mirrors", "none", "--only", "editor"]
    done = subprocess.run([*command, "--work-dir", "work"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: git ls-tree: ") and done.stderr.count("\n") == 1


def test_a_revision_that_there_is_not_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(COMPARE), ".", "--before", "no-such-revision", "--only", "amplint-cold"]
    done = subprocess.run([*command, "--work-dir", "work"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: git rev-parse ") and done.stderr.count("\n") == 1
