"""The findings over other people's code are those that were read and judged (docs/real-code.md), no more and no less.

Packages, and repositories of training code, are looked for in the folder that AMPLINT_REAL_CODE names, or else where
benchmarks/real_code/fetch.py puts packages; what is not there is skipped. With AMPLINT_FETCH_REAL_CODE=1 a package is
downloaded first.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from checkout import ROOT

from amplint.engine.registry import rule_index

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REAL_CODE = ROOT / "benchmarks" / "real_code"
OLDEST, NEWEST = "2.3", "2.4"  # the default target, and the one at which every deprecated name has its replacement
VERDICTS = frozenset({"true", "false", "debatable"})

REPOSITORY_OPTIONS = ["--ignore", "AMP209"]  # hundreds of places with deprecated names, each as true as the next

Place = tuple[str, int, str]
"""File within the package, row, code."""


def _load_fetch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("real_code_fetch", REAL_CODE / "fetch.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fetch = _load_fetch()
PACKAGES = fetch.read_manifest()
VERDICT_FILE = tomllib.loads((REAL_CODE / "verdicts.toml").read_text(encoding="utf-8"))
DEFAULT: list[dict[str, Any]] = VERDICT_FILE["finding"]
RECORDS: list[dict[str, Any]] = [*DEFAULT, *VERDICT_FILE["opt_in"]]
REPOSITORY_FILE = tomllib.loads((REAL_CODE / "repositories.toml").read_text(encoding="utf-8"))
REPOSITORIES: list[dict[str, Any]] = REPOSITORY_FILE["repository"]
IN_REPOSITORIES: list[dict[str, Any]] = REPOSITORY_FILE["finding"]
OPT_IN = ",".join(rule.code for rule in rule_index() if not rule.default)


def _records(package: Any) -> Iterator[dict[str, Any]]:
    return (one for one in RECORDS if (one["package"], one["version"]) == (package.name, package.version))


def _recorded(package: Any, target: str) -> Counter[Place]:
    return Counter((one["file"], one["line"], one["code"]) for one in _records(package) if one["torch"] <= target)


def _files(package: Any) -> list[str]:
    """The files with findings of the default set; some of the others rest on what a whole package does."""
    return sorted({one["file"] for one in _records(package) if one in DEFAULT})


JUDGED = [package for package in PACKAGES if _files(package)]


def _folder(package: Any) -> Path:
    """Where the package lies; skips the test where it does not."""
    home = Path(os.environ.get("AMPLINT_REAL_CODE") or fetch.DEST)
    if os.environ.get("AMPLINT_FETCH_REAL_CODE") == "1":
        home.mkdir(parents=True, exist_ok=True)
        fetch.fetch(package, home)
    folder: Path = home.resolve() / package.folder
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there; `python benchmarks/real_code/fetch.py {home}` gets it")
    return folder


def _said(folder: Path, options: Iterable[str], files: Iterable[str] = (".",)) -> list[dict[str, Any]]:
    """What amplint prints as JSON; from the cache beside the code while neither that nor amplint changed."""
    command = [sys.executable, "-m", "amplint", "--isolated", "--quiet", *options, "--output-format", "json"]
    command += [os.path.join(folder.name, file) for file in files]
    kept = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / ".cache")}
    run = subprocess.run(command, cwd=folder.parent, env=kept, capture_output=True, text=True)
    assert (run.stderr, run.returncode in (0, 1)) == ("", True)
    said: list[dict[str, Any]] = json.loads(run.stdout)
    return said


def _found(folder: Path, options: Iterable[str], files: Iterable[str] = (".",)) -> Counter[Place]:
    """The findings."""
    return Counter(
        (Path(one["filename"]).relative_to(folder).as_posix(), one["location"]["row"], one["code"])
        for one in _said(folder, options, files)
    )


def _all_rules(target: str) -> list[str]:
    return ["--torch-version", target, "--extend-select", OPT_IN]


def _given_up(folder: Path, options: Iterable[str]) -> int:
    """The functions of which not all paths were told apart."""
    counts = _said(folder, [*options, "--statistics"])
    return sum(one["count"] for one in counts if one["code"] is None)


def _repository(record: dict[str, Any]) -> Path:
    """Where the tree of a repository lies; skips the test where it does not."""
    home = Path(os.environ.get("AMPLINT_REAL_CODE") or fetch.DEST)
    folder: Path = home.absolute() / f"{record['name'].replace('/', '+')}@{record['commit']}"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.mark.parametrize("package", PACKAGES, ids=[package.folder for package in PACKAGES])
def test_findings_are_those_judged(package: Any) -> None:
    found, recorded = _found(_folder(package), _all_rules(NEWEST)), _recorded(package, NEWEST)
    assert {"new": found - recorded, "gone": recorded - found} == {"new": Counter(), "gone": Counter()}


@pytest.mark.parametrize("package", PACKAGES, ids=[package.folder for package in PACKAGES])
def test_no_further_paths_of_a_package_are_given_up(package: Any) -> None:
    assert _given_up(_folder(package), _all_rules(NEWEST)) == package.partly


@pytest.mark.parametrize("repository", REPOSITORIES, ids=[one["name"] for one in REPOSITORIES])
def test_findings_in_a_repository_are_those_judged(repository: dict[str, Any]) -> None:
    records = [one for one in IN_REPOSITORIES if one["repository"] == repository["name"]]
    recorded = Counter((one["file"], one["line"], one["code"]) for one in records)
    found = _found(_repository(repository), REPOSITORY_OPTIONS)
    assert {"new": found - recorded, "gone": recorded - found} == {"new": Counter(), "gone": Counter()}


@pytest.mark.parametrize("repository", REPOSITORIES, ids=[one["name"] for one in REPOSITORIES])
def test_no_paths_of_a_repository_are_given_up(repository: dict[str, Any]) -> None:
    assert _given_up(_repository(repository), REPOSITORY_OPTIONS) == 0


@pytest.mark.parametrize("package", JUDGED, ids=[package.folder for package in JUDGED])
def test_an_older_target_finds_no_name_whose_replacement_it_lacks(package: Any) -> None:
    files = _files(package)
    recorded = Counter({place: n for place, n in _recorded(package, OLDEST).items() if place[0] in files})
    assert _found(_folder(package), _all_rules(OLDEST), files) == recorded


def test_every_finding_in_a_repository_is_of_a_named_one() -> None:
    assert {one["repository"] for one in IN_REPOSITORIES} <= {one["name"] for one in REPOSITORIES}


def test_every_record_is_of_a_pinned_package() -> None:
    pinned = {(package.name, package.version) for package in PACKAGES}
    assert {(one["package"], one["version"]) for one in RECORDS} <= pinned


def test_every_record_is_judged_with_a_reason() -> None:
    judged = [*RECORDS, *IN_REPOSITORIES]
    assert {one["verdict"] for one in judged} <= VERDICTS
    assert all(one["reason"].endswith(".") for one in judged)
    assert all(one["torch"] in (OLDEST, NEWEST) for one in RECORDS)


def test_precision_is_what_was_promised() -> None:
    right = sum(one["verdict"] == "true" for one in DEFAULT)
    assert right / len(DEFAULT) >= 0.95


def test_records_of_opt_in_rules_stand_apart() -> None:
    opt_in = set(OPT_IN.split(","))
    assert not {one["code"] for one in DEFAULT} & opt_in
    assert {one["code"] for one in VERDICT_FILE["opt_in"]} <= opt_in


def test_the_document_shows_every_record() -> None:
    rows = (ROOT / "docs" / "real-code.md").read_text(encoding="utf-8").splitlines()
    for one in [*RECORDS, *IN_REPOSITORIES]:
        place = f"`{one['file']}:{one['line']}`"
        assert any(place in row and one["code"] in row and one["reason"] in row for row in rows), place
