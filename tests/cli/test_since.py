"""`--since`: only findings on lines that have changed since a git revision."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from demo_run import CLEAN, SAFE, UNSAFE, amplint, write
from notebook_harness import cell, notebook

pytestmark = pytest.mark.usefixtures("demo_rules")

OLD = SAFE + "x = 1\ny = 2\n"


def git(*arguments: str, folder: str = ".") -> None:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: str = ".", **files: str) -> None:
    write(**files)
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "--allow-empty", "-m", "More")):
        git(*command, folder=folder)


def places(*arguments: str) -> list[str]:
    """Where findings are."""
    done = amplint(*arguments)
    assert done.exit_code in (0, 1), done.stderr
    return [":".join(line.split(":")[:2]) for line in done.stdout.splitlines()]


def test_only_lines_that_changed_are_told() -> None:
    commit(a=OLD)
    done = amplint("--since", "HEAD")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "Not shown: 1 finding on lines that are as they were at `HEAD`\nNo new findings in 1 file\n"
    write(a=OLD + SAFE, b=SAFE)
    assert places("--since", "HEAD") == ["a.py:4", "b.py:1"]
    Path("b.py").unlink()
    commit(a="x = 1\n" + OLD)
    write(a="x = 1\ny = 3\n" + OLD)
    assert places("--since", "HEAD") == []


def test_a_line_is_changed_where_the_line_beside_it_is_gone() -> None:
    commit(a=CLEAN + CLEAN + "before = 1\n" + SAFE + "x = 1\n" + UNSAFE)
    write(a=CLEAN + CLEAN + SAFE + "x = 1\n" + UNSAFE)
    assert places("--since", "HEAD") == ["a.py:3"]


def test_the_other_half_of_a_finding_counts() -> None:
    commit(a="x = 1\ny = 2\n" + SAFE)
    write(a="x = 2\ny = 2\n" + SAFE)
    assert places("--since", "HEAD") == ["a.py:3"], "the demo rule names the beginning of the file"


def test_line_ends_and_layout_at_the_end_of_lines_are_no_change() -> None:
    commit(a=OLD)
    write(a=OLD.replace("\n", "  \r\n"))
    assert places("--since", "HEAD") == []


def test_what_is_staged_committed_or_neither_all_counts() -> None:
    commit(a=OLD, b=CLEAN, c=CLEAN)
    commit(b=CLEAN + SAFE)
    write(c=CLEAN + SAFE)
    git("add", "c.py")
    assert places("--since", "HEAD~1") == ["b.py:2", "c.py:2"]
    assert places("--since", "HEAD") == ["c.py:2"]


def test_a_file_that_is_renamed_is_the_same_file() -> None:
    commit(a=OLD)
    git("mv", "a.py", "b.py")
    assert places("--since", "HEAD") == []
    write(b=OLD + SAFE)
    assert places("--since", "HEAD") == ["b.py:4"]


def test_what_the_other_branch_has_changed_is_not_ours() -> None:
    commit(a=OLD)
    git("branch", "other")
    commit(b=SAFE)
    git("checkout", "-q", "other")
    commit(c=SAFE)
    git("checkout", "-q", "main")
    write(a=SAFE)
    git("commit", "-q", "-am", "Shorter")
    git("checkout", "-q", "other")
    assert places("--since", "main") == ["c.py:1"]


def test_subfolders_and_worktrees(monkeypatch: pytest.MonkeyPatch) -> None:
    commit(sub__a=OLD, b=OLD)
    git("worktree", "add", "-q", "tree")
    write(tree__sub__a=OLD + SAFE, sub__a=OLD + SAFE)
    assert places("--since", "HEAD", "sub") == ["sub/a.py:4"]
    monkeypatch.chdir("tree/sub")
    assert places("--since", "HEAD") == ["a.py:4"]
    os.symlink("../../sub", "linked")
    assert places("--since", "HEAD", "linked") == ["linked/a.py:4"]


def test_inside_a_hook_of_git(monkeypatch: pytest.MonkeyPatch) -> None:
    commit(sub__a=OLD)
    write(sub__a=OLD + SAFE)
    monkeypatch.setenv("GIT_DIR", str(Path(".git").absolute()))
    monkeypatch.setenv("GIT_INDEX_FILE", str(Path(".git/index").absolute()))
    monkeypatch.chdir("sub")
    assert places("--since", "HEAD") == ["a.py:4"]


def test_fix_repairs_what_has_changed() -> None:
    commit(a=OLD)
    write(a=OLD + SAFE)
    assert amplint("--since", "HEAD", "--fix").exit_code == 0
    assert Path("a.py").read_text() == OLD + "good()\n"


def test_together_with_a_baseline() -> None:
    commit(a=OLD)
    write(b=SAFE)
    amplint("--baseline", "known.json", "--update-baseline", "b.py")
    write(c=SAFE)
    assert places("--since", "HEAD", "--baseline", "known.json") == ["c.py:1"]


def test_notebooks_and_standard_input() -> None:
    Path("n.ipynb").write_text(notebook(cell(SAFE), cell(CLEAN)))
    commit(a=OLD)
    Path("n.ipynb").write_text(notebook(cell("# more", kind="markdown"), cell(SAFE), cell(CLEAN + SAFE)))
    assert places("--since", "HEAD") == ["n.ipynb:cell 3"]
    done = amplint("-", "--stdin-filename", "a.py", "--since", "HEAD", stdin=OLD + SAFE)
    assert done.stdout.startswith("a.py:4:1")


def test_what_is_no_revision_is_one_line() -> None:
    write(a=CLEAN)
    done = amplint("--since", "HEAD")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: `HEAD` cannot be looked up: the current folder lies in no git repository\n",
    )
    commit(a=CLEAN)
    for name in ("nowhere", "--all", "", "HEAD:a.py"):
        done = amplint("--since", name)
        assert (done.exit_code, done.stderr) == (2, f"error: `{name}` is no revision of the git repository\n")
    assert amplint("--since", "HEAD", "--baseline", "b.json", "--update-baseline").exit_code == 2


def test_a_repository_in_the_repository_needs_the_revision_too() -> None:
    commit(a=CLEAN)
    commit(a=CLEAN + "y = 1\n")
    write(inner__b=SAFE)
    commit("inner")
    done = amplint("--since", "HEAD~1")
    assert (done.exit_code, done.stderr) == (2, "error: `HEAD~1` is no revision of the git repository\n")


def test_nothing_of_the_repository_is_run() -> None:
    commit(a=OLD)
    Path("run.sh").write_text("#!/bin/sh\ntouch ran\ncat\n")
    Path("run.sh").chmod(0o755)
    program = str(Path("run.sh").absolute())
    for name in ("core.fsmonitor", "diff.x.textconv", "diff.external", "filter.x.clean", "filter.x.smudge"):
        git("config", name, program)
    Path(".gitattributes").write_text("*.py diff=x filter=x\n")
    write(a=OLD + SAFE)
    assert places("--since", "HEAD") == ["a.py:4"]
    assert not Path("ran").exists()
