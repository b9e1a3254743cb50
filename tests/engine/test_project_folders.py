"""What a script imports is found wherever a run is started: the root of a project is told by what lies there."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import CLIPS, LOOP, project

from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.project_folders import marked_above, project_around
from amplint.engine.runner import RunOptions, run

TRAIN = LOOP.format(module="helpers.clips", name="clip", call="clip(model)")


def tree(root: Path, mark: str) -> Path:
    """A script in a folder beside the package that it imports, both in a folder with a mark."""
    project(root, helpers_init="", helpers_clips=CLIPS, tools_train=TRAIN)
    if mark:
        (root / mark).touch()
    return root


@pytest.mark.parametrize(
    ("mark", "started_in", "expected"),
    [
        ("setup.py", "elsewhere", ["AMP101"]),
        (".git", "elsewhere", ["AMP101"]),
        ("", "elsewhere", []),
        ("", "repository", ["AMP101"]),
        ("", ".", ["AMP101"]),
    ],
)
def test_a_package_beside_the_folder_of_a_script_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, started_in: str, expected: list[str]
) -> None:
    root = tree(tmp_path / "repository", mark)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / started_in)
    files = [each for each in discover([str(root)], SettingsResolver(Overrides())) if isinstance(each, FoundFile)]
    reports = run(files, RunOptions(jobs=1, no_cache=True))
    assert [finding.code for report in reports for finding in report.diagnostics] == expected


def test_the_folder_of_a_project_is_the_nearest_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "outer" / "inner" / "package").mkdir(parents=True)
    (tmp_path / "outer" / ".git").touch()
    (tmp_path / "outer" / "inner" / "pyproject.toml").touch()
    assert marked_above(tmp_path / "outer") == tmp_path / "outer"
    assert project_around(tmp_path / "outer" / "inner" / "package") == tmp_path / "outer" / "inner"


def test_without_a_mark_it_is_the_folder_around_the_outermost_package(tmp_path: Path) -> None:
    project(tmp_path, one_init="", one_two_init="")
    assert marked_above(tmp_path) is None
    assert project_around(tmp_path / "one" / "two") == tmp_path


@pytest.mark.parametrize(("name", "mark"), [("one", "README.md"), ("one-main", "train.py"), ("1_one", "train.py")])
def test_a_project_may_hold_an_init_by_mistake(tmp_path: Path, name: str, mark: str) -> None:
    """A README tells so, or a name that nothing can import."""
    project(tmp_path / name, two_init="")
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / mark).touch()
    assert project_around(tmp_path / name / "two") == tmp_path / name
