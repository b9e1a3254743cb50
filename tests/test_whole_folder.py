"""All fixtures in one run, which is the first thing that the README has a newcomer do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixture_harness import ROOT, Found, read_marks
from program import amplint, problems

from amplint.engine.registry import rule_index

DEFAULT = {rule.code for rule in rule_index() if rule.default}


@pytest.fixture(scope="module")
def findings() -> dict[str, Counter[Found]]:
    """What a run on the whole folder finds, by file."""
    done = amplint(
        "fixtures", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json", cwd=ROOT, timeout=600
    )
    assert (problems(done), done.returncode) == ([], 0)
    found: dict[str, Counter[Found]] = {}
    for one in json.loads(done.stdout):
        fix = one["fix"]["applicability"] if one["fix"] else "none"
        path = Path(one["filename"]).relative_to(ROOT).as_posix()
        found.setdefault(path, Counter())[Found(one["location"]["row"], one["code"], fix)] += 1
    return found


def files() -> Iterator[Path]:
    yield from sorted((ROOT / "fixtures").glob("*/*.py"))


def test_nothing_is_found_in_clean_and_in_fixed_files(findings: dict[str, Counter[Found]]) -> None:
    """But for what a fix leaves to its author, which the file says."""
    sound = {path: found for path, found in findings.items() if "/clean_" in path or path.endswith(".fixed.py")}
    for path, found in sound.items():
        left = read_marks((ROOT / path).read_text(encoding="utf-8")).left if path.endswith(".fixed.py") else frozenset()
        assert {(each.row, each.code) for each in found} == left, path


def test_each_file_says_in_the_run_what_it_says_alone(findings: dict[str, Counter[Found]]) -> None:
    for file in files():
        if file.name.endswith(".fixed.py"):
            continue  # what its marks say is what there was
        marks = read_marks(file.read_text(encoding="utf-8"))
        path = file.relative_to(ROOT).as_posix()
        known = Counter({each: n for each, n in findings.get(path, Counter()).items()
                         if (each.row, each.code) not in marks.todo_clean})  # fmt: skip
        wanted = Counter({each: n for each, n in marks.expect.items() if each.code in DEFAULT})
        assert known == wanted, path
