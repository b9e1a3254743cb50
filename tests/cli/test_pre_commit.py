"""The hooks, through real pre-commit: on a repository of a user, from a repository of ours."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from notebook_harness import cell, notebook

missing = importlib.util.find_spec("pre_commit") is None or shutil.which("git") is None
pytestmark = pytest.mark.skipif(missing, reason="pre-commit or git is not installed")

FLAGGED = """\
import torch


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
FIXED = FLAGGED.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")


NO_NETWORK = (
    "Could not find a version",
    "No matching distribution",
    "ConnectionError",
    "Temporary failure in name resolution",
)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit_all(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--no-verify", "--message", "All")
    return git(folder, "rev-parse", "HEAD")


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pre_commit", *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    """A repository with the code as it stands, its revision, and a home for pre-commit that has installed it."""
    folder = tmp_path_factory.mktemp("ours")
    for name in ("amplint", "rules"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, folder)
    git(folder, "init", "--quiet")
    return folder, commit_all(folder), tmp_path_factory.mktemp("home")


@pytest.fixture
def theirs(tmp_path: Path, ours: tuple[Path, str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of a user, with files to complain about; the hooks are installed."""
    folder, revision, home = ours
    monkeypatch.setenv("PRE_COMMIT_HOME", str(home))
    git(tmp_path, "init", "--quiet")
    (tmp_path / "train.py").write_text(FLAGGED)
    (tmp_path / "train.ipynb").write_text(notebook(cell(FLAGGED)))
    (tmp_path / "other.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("GradScaler autocast\n")
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {folder}\n  rev: {revision}\n  hooks:\n  - id: amplint\n  - id: amplint-fix\n    stages: [manual]\n"
    )
    git(tmp_path, "add", "--all")
    installed = pre_commit(tmp_path, "install", "--install-hooks")
    if installed.returncode and any(sign in installed.stdout for sign in NO_NETWORK):
        pytest.skip("pre-commit cannot install the dependencies without a network")
    assert installed.returncode == 0, installed.stdout
    return tmp_path


def test_the_manifest_is_valid() -> None:
    done = pre_commit(ROOT, "validate-manifest", ".pre-commit-hooks.yaml")
    assert done.returncode == 0, done.stdout


def test_the_hooks(theirs: Path) -> None:
    # A commit is refused, and the finding shown.
    refused = subprocess.run(["git", "commit", "--message", "Train"], cwd=theirs, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "train.py:11:9: AMP101 " in refused.stdout + refused.stderr
    assert "train.ipynb:cell 1:11:9: AMP101 " in refused.stdout + refused.stderr
    # The fix hook repairs the files, and fails, so that the user looks at what it did.
    fixing = ("run", "--hook-stage", "manual", "amplint-fix", "--all-files")
    first = pre_commit(theirs, *fixing)
    assert first.returncode == 1 and "files were modified by this hook" in first.stdout, first.stdout
    assert (theirs / "train.py").read_text() == FIXED
    assert (theirs / "train.ipynb").read_text() == notebook(cell(FIXED))
    assert pre_commit(theirs, *fixing).returncode == 0
    # Now the commit goes through.
    git(theirs, "add", "--all")
    accepted = subprocess.run(["git", "commit", "--message", "Train"], cwd=theirs, capture_output=True, text=True)
    assert accepted.returncode == 0, accepted.stderr


def test_settings_and_syntax_errors_in_hooks(theirs: Path) -> None:
    (theirs / "amplint.toml").write_text("exclude = ['train.*']\n")
    git(theirs, "add", "--all")
    assert pre_commit(theirs, "run", "--all-files").returncode == 0
    (theirs / "other.py").write_text("x = (\n")
    git(theirs, "add", "--all")
    broken = pre_commit(theirs, "run", "--all-files")
    assert broken.returncode == 1 and "other.py:1:5: AMP900 " in broken.stdout
