"""Patterns of `.gitignore` and of settings: what git matches, in time that no pattern can drive up."""

from __future__ import annotations

import os
import re
import subprocess
import time
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import amplint, problems

from amplint.engine import gitignore

PATHS = (
    "a",
    "b/",
    "b/a",
    "b/ab",
    "b/c/",
    "b/c/a",
    "b/c/d/",
    "b/c/d/ab",
    "ab/",
    "ab/b/",
    "ab/b/a",
    "a.b",
    "[a]",
    "a!",
    "é-b",
    "#a",
)
NAMES = st.text(st.sampled_from("aabbcd*?[]!-^\\.#é "), max_size=6)
LINES = st.builds(
    lambda start, names, end: start + "/".join(names) + end,
    st.sampled_from(["", "", "!", "/", "**/", "!/"]),
    st.lists(st.one_of(NAMES, st.sampled_from(["**", "*", "b", "c", "[a-c]", "[[:alpha:]]"])), min_size=1, max_size=4),
    st.sampled_from(["", "", "/", "/**", "/*", " "]),
).filter(lambda line: not re.search(r"\[.*/", line))  # to git, a class may reach across a slash


@lru_cache(maxsize=1)
def repository() -> Path:
    """A git repository with a file or a folder for each path."""
    root = Path(mkdtemp())
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for path in PATHS:
        (root / path).mkdir() if path.endswith("/") else (root / path).write_text("")
    return root


def git_says(lines: list[str]) -> dict[str, bool | None]:
    """What git makes of the paths under these patterns."""
    root = repository()
    (root / ".gitignore").write_text("\n".join(lines), "utf-8")
    plain = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(root), "check-ignore", "--no-index", "--verbose", "--non-matching", "--stdin", "-z"]
    asked = "\0".join(path.rstrip("/") for path in PATHS).encode()
    fields = subprocess.run(command, input=asked, env=plain, capture_output=True).stdout.decode().split("\0")
    found = zip(PATHS, fields[::4], fields[2::4])
    return {path: None if not source else not pattern.startswith("!") for path, source, pattern in found}


def amplint_says(lines: list[str]) -> dict[str, bool | None]:
    """What amplint makes of them, leaving out patterns that it refuses."""
    taken = []
    for line in lines:
        try:
            gitignore.parse_pattern(line)
            taken.append(line)
        except ValueError:
            pass
    says = gitignore.is_ignored
    return {path: says(tuple(taken), "/root", f"/root/{path.rstrip('/')}", path.endswith("/")) for path in PATHS}


@given(st.lists(LINES, min_size=1, max_size=4))
@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
def test_patterns_match_what_git_matches(lines: list[str]) -> None:
    assert amplint_says(lines) == git_says(lines)


@pytest.mark.parametrize(
    "pattern",
    ["a*" * 20 + "b", "*?" * 15 + "b", "**/a/" * 15 + "b", "**/*/" * 100 + "b", "*a" * 400 + "b", "**/" * 300 + "b",
     "*[a-z]" * 100 + "0", "**/a*/" * 100 + "*b"],
)  # fmt: skip
@pytest.mark.parametrize(
    "path", ["a" * 255, "/".join(["a" * 60] * 60), "a/" * 1500 + "c"], ids=["long", "both", "deep"]
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    began = time.process_time()
    assert gitignore.is_ignored((pattern,), "/root", f"/root/{path}") is None
    # The time for one more folder is what a walk pays.
    assert time.process_time() - began < 5


def test_patterns_that_are_refused_in_settings(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    for key, value in {"exclude": '["{}"]', "per-file-ignores": '{{"{}" = ["AMP101"]}}'}.items():
        for pattern in ("x" * 2000, "!", "/"):
            (tmp_path / "amplint.toml").write_text(f"{key} = {value.format(pattern)}\n")
            done = amplint(".", cwd=tmp_path)
            if key == "exclude" or pattern != "!":
                (problem,) = problems(done)
                assert problem.startswith(f"amplint.toml:1: `{key}`: bad pattern: ")
                assert done.returncode == 2


def test_patterns_that_are_refused_in_an_ignore_file_are_passed_over(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import torch\nx = (\nscaler = torch.amp.GradScaler()\n")
    (tmp_path / ".gitignore").write_text("x" * 2000 + "\n# fine\n/\nb.py\n")
    done = amplint(".", cwd=tmp_path)
    assert done.stdout.startswith("a.py") and "b.py" not in done.stdout
    assert [line for line in done.stderr.splitlines() if line.startswith("warning")] == [
        "warning: .gitignore: the pattern in line 1 is longer than 1000 characters, and passed over"
    ]
    (tmp_path / ".gitignore").write_text("a.py\n" * 20_000)
    done = amplint(".", cwd=tmp_path)
    assert "warning: .gitignore: holds more than 10,000 lines; nothing is ignored for it" in done.stderr.splitlines()
    assert "a.py" in done.stdout
