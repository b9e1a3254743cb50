"""Inside flake8, amplint reports what it reports by itself: the same lines, rows and columns."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import misbehaving_pack
import pytest
from checkout import ROOT
from forked import forked_amplint, forked_python
from program import environment, problems

pytestmark = pytest.mark.skipif(importlib.util.find_spec("flake8") is None, reason="flake8 is not installed")

TRAINING = """\
import torch

scaler = torch.amp.GradScaler("cuda")


def train(model, optimizer, batches):
    for batch in batches:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule pack whose findings are known, and no settings of whoever runs the tests."""
    monkeypatch.setenv("PYTHONPATH", str(misbehaving_pack.install(tmp_path / "site")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


FLAKE8 = ("-m", "flake8", "--isolated", "--select", "AMP,BAD")


def flake8(project: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = forked_python(*FLAKE8, *arguments, cwd=project, stdin=stdin)
    assert done.stderr == "", done.stderr
    return done


def lines(output: str) -> list[str]:
    """Findings in order, without what marks them as fixable, and without the dot that flake8 puts before paths."""
    plain = [re.sub(r" \[(\*|unsafe)\]$", "", line) for line in output.splitlines()]
    return sorted((re.sub(r"^\./", "", line) for line in plain), key=lambda line: [*line.split(":")[:1], line])


def check_equal(project: Path, *paths: str) -> list[str]:
    """What flake8 and amplint both say about the paths."""
    own = forked_amplint("--no-cache", *paths, cwd=project)
    assert problems(own) == []
    inside = flake8(project, *paths)
    assert lines(inside.stdout) == lines(own.stdout)
    assert inside.returncode == own.returncode
    return lines(inside.stdout)


def test_the_same_findings_in_the_fixtures(project: Path) -> None:
    for folder in sorted((ROOT / "fixtures").iterdir()):
        for file in [*sorted(folder.glob("flagged_*.py"))[:4], *sorted(folder.glob("clean_*.py"))[:1]]:
            if ".fixed" not in file.name:
                shutil.copy(file, project / f"{folder.name}_{file.name}")
    found = check_equal(project, ".")
    assert len(found) > 10
    anew = subprocess.run(
        [sys.executable, *FLAKE8, "."], cwd=project, env=environment(), capture_output=True, text=True
    )
    assert (lines(anew.stdout), anew.stderr) == (found, "")


def test_rows_and_columns(project: Path) -> None:
    (project / "a.py").write_bytes("def f():\r\n\tx = 'ä'; flags_here\r\n\r\nflags_here".encode())
    (project / "b.py").write_bytes(b"\xef\xbb\xbfflags_here\n\x0cflags_here\n")
    (project / "c.py").write_bytes(b"# coding: latin-1\ns = '\xe9\xe9'; flags_here\n")
    assert check_equal(project, "a.py", "b.py", "c.py") == [
        "a.py:2:11: BAD006 Flagged",
        "a.py:4:1: BAD006 Flagged",
        "b.py:1:1: BAD006 Flagged",
        "b.py:2:2: BAD006 Flagged",
        "c.py:2:11: BAD006 Flagged",
    ]


def test_suppression_comments_of_both(project: Path) -> None:
    (project / "a.py").write_text(
        "flags_here  # noqa\n"
        "flags_here  # noqa: BAD006\n"
        "flags_here  # amplint: ignore[BAD006]\n"
        "flags_here  # amplint: ignore[flags-here]\n"
        "flags_here  # noqa: E501\n"
        "other = 1  # amplint: ignore[BAD006]\n"
        "other = (\n    flags_here,\n    '''\n''',\n)  # noqa: BAD006\n"
    )
    (project / "b.py").write_text("# amplint: file-ignore[BAD006]\nflags_here\n")
    (project / "c.py").write_text("other = 1  # noqa: BAD006\n")
    found = check_equal(project, ".")
    places = [" ".join(line.split(" ")[:2]) for line in found]
    assert places == ["a.py:5:1: BAD006", "a.py:6:30: AMP901", "c.py:1:20: AMP901"]


def test_settings_are_respected(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.amplint]\nignore = ['BAD006']\nexclude = ['old']\nper-file-ignores = {'tests/*' = ['BAD']}\n"
    )
    for name in ("plain", "tests", "old", "own"):
        (project / name).mkdir()
        (project / name / "a.py").write_text("flags_here\n")
    (project / "own" / "amplint.toml").write_text("select = ['BAD006']\n")
    assert check_equal(project, ".") == ["own/a.py:1:1: BAD006 Flagged"]
    assert check_equal(project, "plain/a.py", "old/a.py", "own/a.py") == ["own/a.py:1:1: BAD006 Flagged"]


def test_what_other_files_establish(project: Path) -> None:
    for name in ("a", "b"):
        (project / f"{name}.py").write_text("wonders_here\n")
    assert check_equal(project, "a.py", "b.py") == []
    (project / "training.py").write_text(TRAINING)
    expected = [f"{name}.py:1:1: BAD007 Flagged with reserve" for name in ("a", "b")]
    assert check_equal(project, ".") == expected
    assert check_equal(project, "a.py", "b.py", "training.py") == expected
    # What the files establish holds for each of them, whichever are named.
    assert check_equal(project, "a.py", "b.py") == expected
    for jobs in ("1", "2"):
        assert lines(flake8(project, "--jobs", jobs).stdout) == expected


def test_stdin(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "amplint.toml").write_text("ignore = ['BAD006']\n")
    text = "x = 'ä'; flags_here\n".encode()
    assert flake8(project, "-", stdin=text).stdout == "stdin:1:10: BAD006 Flagged\n"
    assert flake8(project, "--stdin-display-name", "sub/a.py", "-", stdin=text).stdout == ""
    assert forked_amplint("--stdin-filename", "sub/a.py", "-", cwd=project, stdin=text).stdout == ""


def test_syntax_errors_are_left_to_flake8(project: Path) -> None:
    (project / "a.py").write_text("flags_here = (\n")
    assert flake8(project, "a.py").stdout == ""
    assert "E999" in flake8(project, "--select", "E9", "a.py").stdout


def test_a_rule_that_crashes_is_named(project: Path) -> None:
    (project / "a.py").write_text("crashes_here\n")
    (project / "b.py").write_text("flags_here\n")
    assert lines(flake8(project, ".").stdout) == [
        "a.py:1:1: AMP900 Not checked: rule BAD001 crashed at misbehaving_rules/bad001_crashes.py:29: ValueError: no luck at all",
        "b.py:1:1: BAD006 Flagged",
    ]


def test_settings_that_are_of_no_use(project: Path) -> None:
    (project / "a.py").write_text("flags_here\n")
    (project / "sub").mkdir()
    (project / "sub" / "b.py").write_text("flags_here\n")
    (project / "sub" / "amplint.toml").write_text("select = 3\n")
    assert lines(flake8(project, ".").stdout) == [
        "a.py:1:1: BAD006 Flagged",
        "sub/b.py:1:1: AMP900 Not checked: sub/amplint.toml:1: `select` must be a list of strings",
    ]
    (project / "sub" / "amplint.toml").write_text("select = ['xyzzy']\n")
    assert lines(flake8(project, ".").stdout)[-1] == (
        "sub/b.py:1:1: AMP900 Not checked: sub/amplint.toml:1: `select`: unknown rule `xyzzy`; `amplint rules` lists them"
    )


OPT_IN = """\
import torch


def run(model, batch):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return model(batch)
"""
"""Code with a finding of a rule that is off by default, AMP403, and no other."""


@pytest.mark.parametrize("switch", [["--extend-select", "AMP403"], ["--select", "AMP403,BAD"]])
def test_a_code_that_is_named_switches_its_rule_on(project: Path, switch: list[str]) -> None:
    (project / "a.py").write_text(OPT_IN)
    own = forked_amplint("--no-cache", "--extend-select", "AMP403", cwd=project)
    assert "AMP403" in own.stdout
    assert lines(flake8(project, *switch).stdout) == lines(own.stdout)


@pytest.mark.parametrize("prefix", ["AMP", "AMP4", "AMP40"])
def test_a_prefix_chooses_among_what_runs_anyway(project: Path, prefix: str) -> None:
    (project / "a.py").write_text(OPT_IN + "\n\nflags_here\n")
    assert lines(flake8(project, "--select", prefix).stdout) == []
    assert lines(flake8(project, "--select", f"{prefix},BAD").stdout) == ["a.py:9:1: BAD006 Flagged"]


def test_a_code_that_does_not_exist_is_nothing_to_flake8(project: Path) -> None:
    (project / "a.py").write_text("flags_here\n")
    assert lines(flake8(project, "--extend-select", "AMP999").stdout) == ["a.py:1:1: BAD006 Flagged"]


def test_a_file_that_flake8_is_to_leave_alone(project: Path) -> None:
    (project / "a.py").write_text("# flake8: noqa\nflags_here\n")
    (project / "b.py").write_text("flags_here\nflags_here  # noqa: BAD006\n")
    assert lines(flake8(project).stdout) == ["b.py:1:1: BAD006 Flagged"]
    all_ = ["a.py:2:1", "b.py:1:1", "b.py:2:1"]
    assert lines(flake8(project, "--disable-noqa").stdout) == [f"{place}: BAD006 Flagged" for place in all_]


def test_switches_that_choose_among_findings(project: Path) -> None:
    for name in ("a", "b"):
        (project / f"{name}.py").write_text("flags_here\n")
    assert flake8(project, "--extend-ignore", "BAD006").stdout == ""
    assert lines(flake8(project, "--per-file-ignores", "a.py:BAD").stdout) == ["b.py:1:1: BAD006 Flagged"]
    assert lines(flake8(project, "--exclude", "b.py").stdout) == ["a.py:1:1: BAD006 Flagged"]
    (project / ".flake8").write_text("[flake8]\nselect = AMP,BAD\nextend-ignore = BAD006\n")
    command = [sys.executable, "-m", "flake8"]
    done = subprocess.run(command, cwd=project, env=environment(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
