"""The benchmark lays out the repositories that it measures, and says in one line why it cannot."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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


def commit(folder: Path) -> str:
    """Make a bare repository of two files, one of them Python; the name of its commit."""
    work = folder.parent / "work"
    (work / "pkg").mkdir(parents=True)
    (work / "pkg" / "train.py").write_text("x = 1\n")
    (work / "README.md").write_text("text\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(work)]
    for line in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["clone", "-q", "--bare", ".", str(folder)]):
        subprocess.run([*git, *line], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def test_a_commit_of_a_mirror_is_laid_out_once(tmp_path: Path, repositories: ModuleType) -> None:
    wanted = repositories.Repository("own/er", commit(tmp_path / "mirrors" / "own+er"))
    folder = repositories.lay_out(wanted, tmp_path / "cache", tmp_path / "mirrors")
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()] == ["pkg/train.py"]
    assert repositories.lay_out(wanted, tmp_path / "cache", tmp_path / "no_mirrors") == folder
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [folder.name]


def test_a_mirror_that_lacks_the_commit_leaves_nothing(tmp_path: Path, repositories: ModuleType) -> None:
    commit(tmp_path / "mirrors" / "own+er")
    with pytest.raises(repositories.RepositoryError, match="^git archive: .+$"):
        repositories.lay_out(repositories.Repository("own/er", "0" * 40), tmp_path / "cache", tmp_path / "mirrors")
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_cannot_be_measured_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(COMPARE), "--repositories", "cache", "--mirrors", "none", "--only", "editor"]
    done = subprocess.run([*command, "--work-dir", "work"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: git archive: ") and done.stderr.count("\n") == 1
